// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// causing and causedBy give the object a key in the relation `rel` of the configuration.
func causing(key string) func(*observation.State) { return related(object.Cause, key) }

func causedBy(key string) func(*observation.State) { return related(object.Effect, key) }

func related(side object.RelationType, key string) func(*observation.State) {
	return func(st *observation.State) {
		st.Relations = []object.Relation{{Type: side, To: object.DeclaredName("rel", key)}}
	}
}

// observes lets the controller write its status. The object has not converged.
func observes(st *observation.State) {
	st.ObservedGeneration = st.Generation
	managed("db-controller", "status")(st)
}

// opaque removes the signal of convergence.
func opaque(st *observation.State) {
	st.ObservedGeneration, st.Progress = -1, observation.ProgressCurrent
}

// databases are stories of Database main and Volume data, without an owner.
var databases = map[string]struct {
	reason string
	tell   func(*story)
	want   string
}{
	"open": {
		"a component's write belongs to the open change of its cause",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"))
			s.write("main", observes)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"))
			s.write("data", arrived)
			s.write("main", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
    reconcile Volume data converged (relation)
`,
	},
	"update": {
		"an update counts as a creation does",
		func(s *story) {
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"), arrived)
			s.write("main", custom("Database"), causing("k"), observes, arrived)
			s.before()
			s.write("main", changed, by("kubectl-edit"))
			s.write("data", set("spec.size"), by("db-controller"))
			s.write("data", arrived)
			s.write("main", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
    reconcile Volume data converged (relation)
`,
	},
	"ended": {
		"after the change a write is one of its own, with a link",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"))
			s.write("main", arrived, managed("db-controller", "status"))
			s.wait(time.Minute)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"))
			s.write("data", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged ~relation
`,
	},
	"quiet": {
		"an object without a convergence signal is open for the quiet time only",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"), opaque)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"))
			s.write("data", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
    reconcile Volume data converged (time)
`,
	},
	"person": {
		"a person's write is a change",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"))
			s.write("main", observes)
			s.write("data", custom("Volume"), causedBy("k"))
			s.write("data", arrived)
			s.write("main", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged
`,
	},
	"audited person": {
		"the audit log shows that a person used another client than kubectl",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"))
			s.write("main", observes)
			s.write("data", custom("Volume"), by("console"), causedBy("k"))
			s.audited("data", "create", func(w *observation.Write) { w.UserAgent = "console/1" })
			s.write("data", arrived)
			s.write("main", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged
    create Volume data (request)
`,
	},
	"one author": {
		"one program that writes both objects is not its own effect",
		func(s *story) {
			s.write("main", custom("Database"), by("helm"), causing("k"))
			s.write("data", custom("Volume"), by("helm"), causedBy("k"))
			s.write("data", arrived)
			s.write("main", arrived, managed("db-controller", "status"))
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged ~relation
`,
	},
	"other key": {
		"only equal keys relate",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"))
			s.write("main", observes)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("other"))
			s.write("data", arrived)
			s.write("main", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged
`,
	},
	"two causes": {
		"the newest open change is the parent, the other a link",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"))
			s.write("main", observes)
			s.write("second", custom("Database"), causing("k"))
			s.write("second", observes)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"))
			s.write("data", arrived)
			s.write("main", arrived)
			s.write("second", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Database second converged
    reconcile Volume data converged (relation) ~relation
`,
	},
	"deletion": {
		"a deletion by an unknown author belongs to the deletion of its cause",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"), observes, arrived)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"), arrived)
			s.before()
			s.write("main", deleting)
			s.gone("data")
			s.gone("main")
		}, `
trace 0 deleted
  reconcile Database main deleted
    reconcile Volume data deleted (relation)
`,
	},
	"other deletion": {
		"a deletion by an unknown author does not belong to an update, and has a link",
		func(s *story) {
			s.write("main", custom("Database"), causing("k"), observes, arrived)
			s.write("data", custom("Volume"), by("db-controller"), causedBy("k"), arrived)
			s.before()
			s.write("main", changed, by("kubectl-edit"))
			s.gone("data")
			s.write("main", arrived)
		}, `
trace 0 converged
  reconcile Database main converged
trace 1 deleted
  reconcile Volume data deleted ~relation
`,
	},
}

// TestDeclared: relations of the configuration, in any order of arrival.
func TestDeclared(t *testing.T) {
	for name, tc := range databases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			want := strings.TrimPrefix(tc.want, "\n")
			if diff := cmp.Diff(want, s.outline(t)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
			takeAsSeen(t, tc.reason, s.seen)
			looksAlikeMixed(t, s.seen)
		})
	}
}

// TestDeclaredLater: the link to a change that was handed out and folded, and a cause whose watch is
// delayed.
func TestDeclaredLater(t *testing.T) {
	s := newStory()
	s.write("main", custom("Database"), causing("k"))
	s.write("main", arrived, managed("db-controller", "status"))
	e := observe(s.seen)
	s.wait(time.Hour)
	first := e.Take(s.now())
	e.Take(s.now().Add(time.Hour))
	var saved bytes.Buffer
	if err := e.Save(&saved); err != nil {
		t.Fatal(err)
	}
	e, err := Restore(Options{Cluster: "test"}, &saved)
	if err != nil {
		t.Fatal(err)
	}
	s.seen = nil
	s.write("data", custom("Volume"), by("db-controller"), causedBy("k"))
	s.write("data", arrived)
	for _, o := range s.seen {
		e.Observe(o)
	}
	second := e.Traces(s.now().Add(time.Minute))
	if len(first) != 1 || len(second) != 1 || len(second[0].Spans[0].Links) != 1 {
		t.Fatalf("got %s and %s", outline(first), outline(second))
	}
	if l := second[0].Spans[0].Links[0]; l.TraceID != first[0].ID || l.SpanID != first[0].Spans[0].ID {
		t.Errorf("the link leads to %s, not to the trace %s", l.TraceID, first[0].ID)
	}
	if got := e.Matches(); got["rel"] != 1 {
		t.Errorf("got %v matches, want 1", got)
	}

	s = newStory()
	s.write("main", custom("Database"), causing("k"))
	s.write("data", custom("Volume"), by("db-controller"), causedBy("k"))
	s.write("data", arrived)
	cause := s.seen[0]
	e = observe(s.seen[1:])
	if early := e.Take(s.now().Add(10 * time.Second)); len(early) > 0 {
		t.Fatalf("handed out without its cause: %s", outline(early))
	}
	late := *cause
	late.Seen = s.now().Add(10 * time.Second)
	e.Observe(&late)
	got := e.Traces(s.now().Add(20 * time.Second))
	if len(got) != 1 || len(got[0].Spans) != 2 || got[0].Spans[1].Evidence != span.ByRelation {
		t.Errorf("the delayed cause is no parent:\n%s", outline(got))
	}
}
