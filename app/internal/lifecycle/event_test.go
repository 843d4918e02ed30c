// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// report is an Event by db-controller about the first object, with the second one as the related object.
func (s *story) report(regarding, related string, edits ...func(*observation.Event)) {
	s.rv++
	to := s.objects[related].Ref
	e := &observation.Event{
		UID: "uid-event", ResourceVersion: s.rv, Regarding: s.objects[regarding].Ref, Related: &to, Type: "Normal",
		Reason: "Provisioned", Component: "db-controller", Time: s.now(),
	}
	for _, edit := range edits {
		edit(e)
	}
	s.emit(observation.Observation{Event: e})
}

// reportedBy changes the reporter of an Event.
func reportedBy(component, manager string) func(*observation.Event) {
	return func(e *observation.Event) { e.Component, e.Manager = component, manager }
}

// volume is an object made by db-controller.
func volume(st *observation.State) {
	custom("Volume")(st)
	by("db-controller")(st)
}

// ordered begins the creation of Database main.
func ordered(s *story) {
	s.write("main", custom("Database"))
	s.write("main", observes)
}

const (
	below = `
trace 0 converged
  reconcile Database main converged
    reconcile Volume data converged (event)
`
	separate = `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged
`
	linked = `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Volume data converged ~event
`
)

// reports are stories of Database main and Volume data, without an owner, and Events about both.
var reports = map[string]struct {
	reason string
	tell   func(*story)
	want   string
}{
	"open": {"a component's write belongs to the open change of the object in its Event", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data")
		s.finish("data", "main")
	}, below},
	"inverse": {"the roles in the Event do not matter", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("data", "main")
		s.finish("data", "main")
	}, below},
	"ahead": {"an Event may come before the write", func(s *story) {
		s.write("data", volume, arrived)
		s.wait(time.Minute)
		s.before()
		ordered(s)
		s.report("main", "data", func(e *observation.Event) { e.Count = 2 })
		s.write("data", set("spec.size"), by("db-controller"))
		s.finish("data", "main")
	}, below},
	"ended": {"after the change a write is one of its own, with a link", func(s *story) {
		ordered(s)
		s.finish("main")
		s.wait(time.Minute)
		s.write("data", volume)
		s.report("main", "data")
		s.finish("data")
	}, linked},
	"earlier change": {"an Event of an earlier change does not count", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data")
		s.finish("data", "main")
		s.wait(time.Minute)
		s.write("main", changed, by("kubectl-edit"))
		s.write("data", set("spec.size"), by("db-controller"))
		s.finish("data", "main")
	}, below + `trace 1 converged
  reconcile Database main converged ~previous
trace 2 converged
  reconcile Volume data converged ~previous
`},
	"no Event": {"no result requires an Event", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.finish("data", "main")
	}, separate},
	"no related object": {"a message names no object", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data", func(e *observation.Event) { e.Related, e.Note = nil, "Created Volume: data" })
		s.finish("data", "main")
	}, separate},
	"person": {"a person's write is a change", func(s *story) {
		ordered(s)
		s.write("data", custom("Volume"))
		s.report("main", "data", reportedBy("kubectl", "kubectl-create"))
		s.finish("data", "main")
	}, separate},
	"another reporter": {"the author of the write did not report the Event", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data", reportedBy("backup", "backup"))
		s.finish("data", "main")
	}, separate},
	"field manager": {"the name in the Event may be another one than that in the write", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data", reportedBy("example.com/databases", "db-controller"))
		s.finish("data", "main")
	}, below},
	"shared field manager": {"the controllers of kube-controller-manager share a field manager", func(s *story) {
		ordered(s)
		s.write("data", custom("Volume"), by("kube-controller-manager"))
		s.report("main", "data", reportedBy("job-controller", "kube-controller-manager"))
		s.finish("data", "main")
	}, separate},
	"another namespace": {"the author of an Event could write any UID", func(s *story) {
		ordered(s)
		s.write("data", volume, func(st *observation.State) { st.Namespace = "other" })
		s.report("main", "data")
		s.finish("data", "main")
	}, separate},
	"one author": {"one program that writes both objects is not its own effect", func(s *story) {
		s.write("main", custom("Database"), by("helm"))
		s.write("data", custom("Volume"), by("helm"))
		s.report("main", "data", reportedBy("helm", "helm"))
		s.write("main", observes)
		s.finish("data", "main")
	}, linked},
	"two objects": {"the newest change is the parent, the other a link", func(s *story) {
		ordered(s)
		s.write("second", custom("Database"))
		s.write("second", observes)
		s.write("data", volume)
		s.report("main", "data")
		s.report("second", "data")
		s.finish("data", "main", "second")
	}, `
trace 0 converged
  reconcile Database main converged
trace 1 converged
  reconcile Database second converged
    reconcile Volume data converged (event) ~event
`},
	"effect of the effect": {"a change is no effect of its own effects", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data")
		s.finish("main")
		s.wait(10 * time.Second)
		s.write("main", set("spec.volume"), by("db-controller"))
		s.write("main", observes)
		s.finish("data", "main")
	}, below + `trace 1 converged
  reconcile Database main converged ~previous
`},
	"kept": {"the Event is kept as long as the write", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.report("main", "data")
		s.write("data", observes)
		s.write("data", set("spec.size"), by("kubectl-edit"))
		s.finish("main")
		for range 10 {
			s.wait(time.Minute)
			s.write("data", observes)
		}
		s.finish("data")
	}, `
trace 0 converged
  reconcile Database main converged
    reconcile Volume data superseded (event)
trace 1 converged
  reconcile Volume data converged ~previous
`},
	"audited": {"the audit log shows the author", func(s *story) {
		ordered(s)
		s.write("data", volume)
		s.audited("data", "create", func(w *observation.Write) {
			w.User, w.UserAgent = "system:serviceaccount:db:db", "manager/v0.0.0"
		})
		s.report("main", "data", reportedBy("example.com/databases", "manager"))
		s.finish("data", "main")
	}, below + "      create Volume data (request)\n"},
	"deletion": {"a deletion by an unknown author belongs to a deletion", func(s *story) {
		s.write("main", custom("Database"), observes, arrived)
		s.write("data", volume, arrived)
		s.before()
		s.write("main", deleting)
		s.gone("data")
		s.report("main", "data")
		s.gone("main")
	}, `
trace 0 deleted
  reconcile Database main deleted
    reconcile Volume data deleted (event)
`},
	"deletion of the other": {"its unknown author is not the reporter", func(s *story) {
		s.write("main", custom("Database"), observes, arrived)
		s.write("data", volume, arrived)
		s.before()
		s.write("data", set("spec.size"), by("db-controller"))
		s.finish("data")
		s.wait(time.Minute)
		s.gone("main")
		s.report("main", "data")
	}, `
trace 0 converged
  reconcile Volume data converged
trace 1 deleted
  reconcile Database main deleted
`},
	"other deletion": {"a deletion by an unknown author does not belong to an update, and has a link", func(s *story) {
		s.write("main", custom("Database"), observes, arrived)
		s.write("data", volume, arrived)
		s.before()
		s.write("main", changed, by("kubectl-edit"))
		s.gone("data")
		s.report("main", "data")
		s.finish("main")
	}, `
trace 0 converged
  reconcile Database main converged
trace 1 deleted
  reconcile Volume data deleted ~event
`},
}

// TestReports: relations by Events, in any order of arrival, with looks in between.
func TestReports(t *testing.T) {
	for name, tc := range reports {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			want := strings.TrimPrefix(tc.want, "\n")
			if diff := cmp.Diff(want, s.outline(t)); diff != "" {
				t.Fatalf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
			takeAsSeen(t, tc.reason, s.seen)
			looksAlikeMixed(t, s.seen)
		})
	}
}

// TestLateReport: an Event that arrives after the handout of a trace changes nothing in it.
func TestLateReport(t *testing.T) {
	s := newStory()
	ordered(s)
	s.write("data", volume)
	s.report("main", "data")
	s.finish("data")
	event := s.seen[3]
	early := slices.Concat(s.seen[:3], s.seen[4:])
	e := observe(early)
	first := e.Take(s.now().Add(10 * time.Second))
	if got, want := outline(first), "trace 0 converged\n  reconcile Volume data converged\n"; got != want {
		t.Fatalf("want the Volume handed out:\n%s", got)
	}
	late := *event
	late.Seen = s.now().Add(11 * time.Second)
	e.Observe(&late)
	s.wait(20 * time.Second)
	from := len(s.seen)
	s.finish("main")
	e.Observe(s.seen[from])
	second := e.Take(s.now().Add(time.Minute))
	if got, want := outline(second), "trace 0 converged\n  reconcile Database main converged\n"; got != want {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, got))
	}
}

// TestSavedReport: a restored engine keeps the related objects of Events.
func TestSavedReport(t *testing.T) {
	s := newStory()
	ordered(s)
	s.report("main", "main") // it relates nothing
	s.write("data", volume)
	s.report("main", "data", reportedBy("example.com/databases", "db-controller"))
	e := observe(s.seen)
	var saved bytes.Buffer
	if err := e.Save(&saved); err != nil {
		t.Fatal(err)
	}
	e, err := Restore(Options{Cluster: "test"}, &saved)
	if err != nil {
		t.Fatal(err)
	}
	from := len(s.seen)
	s.finish("data", "main")
	for _, o := range s.seen[from:] {
		e.Observe(o)
	}
	want := strings.TrimPrefix(below, "\n")
	if diff := cmp.Diff(want, outline(e.Traces(s.now().Add(time.Minute)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWithoutEvents: no result requires an Event. A recording without its Events gives the same changes, with
// the same parents but those by Events.
func TestWithoutEvents(t *testing.T) {
	for name, seen := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := seen[len(seen)-1].Seen.Add(time.Minute)
			isEvent := func(o *observation.Observation) bool { return o.Event != nil }
			without := slices.DeleteFunc(slices.Clone(seen), isEvent)
			traces := observe(without).Traces(end)
			valid(t, traces)
			want, got := parents(observe(seen).Traces(end)), parents(traces)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-with Events +without:\n%s", diff)
			}
			for seed := range uint64(3) {
				other := observe(permuted(without, seed)).Traces(end)
				if diff := cmp.Diff(outline(traces), outline(other)); diff != "" {
					t.Fatalf("permutation %d gives other traces (-first +permuted):\n%s", seed, diff)
				}
			}
		})
	}
}

// parents returns a line for each reconciliation, in order: its object, and its parent and evidence unless an
// Event is the evidence.
func parents(traces []*span.Trace) []string {
	objects := map[trace.SpanID]string{}
	var out []string
	for _, tr := range traces {
		for _, s := range tr.Spans {
			objects[s.ID] = s.Name + " " + s.Object.Name
		}
		for _, s := range tr.Spans {
			line := objects[s.ID]
			if s.Evidence != "" && s.Evidence != span.ByEvent {
				line += fmt.Sprintf(" below %s (%s)", objects[s.Parent], s.Evidence)
			}
			if strings.HasPrefix(s.Name, "reconcile ") {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestKeptReport: an Event is kept as long as an open trace needs the object of its write. A later link to that
// write leads to the trace of the cause.
func TestKeptReport(t *testing.T) {
	s := newStory()
	ordered(s)
	s.write("data", volume)
	s.report("main", "data")
	s.write("data", observes)
	s.write("disk", childOf("Volume", "data", "Disk"))
	s.write("spare", childOf("Volume", "data", "Disk"))
	s.finish("disk", "spare", "data")
	s.write("disk", changed, by("kubectl-edit"), func(st *observation.State) {
		st.Progress = observation.ProgressInProgress
	})
	s.finish("main")
	for range 10 {
		s.wait(time.Minute)
		s.write("elsewhere", custom("Disk"), arrived)
	}
	s.gone("spare")
	s.write("other", childOf("Volume", "data", "Disk"))
	s.finish("other", "disk")
	e := New(Options{Cluster: "test"})
	var all []*span.Trace
	for _, o := range s.seen {
		e.Observe(o)
		all = append(all, e.Take(o.Seen.Add(10*time.Second))...)
	}
	all = append(all, e.Take(s.now().Add(2*time.Hour))...)
	var first trace.TraceID
	links := map[string]trace.TraceID{}
	for _, tr := range all {
		for _, sp := range tr.Spans {
			if sp.Object.Name == "data" {
				first = tr.ID
			}
			for _, l := range sp.Links {
				links[sp.Object.Name+" "+l.Reason] = l.TraceID
			}
		}
	}
	if got := links["other owner"]; !first.IsValid() || got != first {
		t.Errorf("the link leads to %s, want %s in\n%s", got, first, outline(all))
	}
}
