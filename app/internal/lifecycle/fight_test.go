// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
)

// valued sets the field at path to a value; 0 removes it.
func valued(path string, value uint64) func(*observation.State) {
	return func(st *observation.State) {
		set(path)(st)
		if st.Leaves[len(st.Leaves)-1].Value = value; value == 0 {
			st.Leaves = st.Leaves[:len(st.Leaves)-1]
		}
		slices.SortFunc(st.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
		if strings.HasPrefix(path, "metadata.") {
			st.Generation, st.Desired = st.Generation-1, st.Desired-1
		}
		if st.Workload != nil && path == replicas {
			st.Workload.Replicas = 0
		}
	}
}

// person is the user of a request in the audit log.
func person(name string) func(*observation.Write) {
	return func(w *observation.Write) { w.User = name }
}

// tier is the path of a label.
const tier = "metadata.labels.tier"

// TestFights: the changes in a fight over a field name the field and the opponent.
func TestFights(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		want   []string
	}{
		"Operators": {"two field managers set the number of replicas back", func(s *story) {
			for i := range uint64(5) {
				s.write("web", valued(replicas, 1+i%2), by([]string{"x-operator", "y-operator"}[i%2]))
				s.wait(3 * time.Second)
			}
		}, []string{
			"x-operator spec.replicas",
			"y-operator spec.replicas",
			"x-operator spec.replicas against y-operator, 1 in 6.2s over y-operator",
			"y-operator spec.replicas against x-operator, 2 in 9.3s over x-operator",
			"x-operator spec.replicas against y-operator, 3 in 12.4s over y-operator",
		}},
		"Autoscaler": {"a script and an autoscaler", func(s *story) {
			s.write("hpa", scaler)
			s.write("hpa", decided(0, "cpu 50% of 50%"))
			s.wait(30 * time.Second)
			for range 2 {
				s.write("web", valued(replicas, 1), by("script"))
				s.wait(15 * time.Second)
				s.write("web", autoscaled(3), valued(replicas, 3), owned(2))
				s.wait(15 * time.Second)
			}
		}, []string{
			"script spec.replicas",
			"horizontal-pod-autoscaler spec.replicas",
			"script spec.replicas against horizontal-pod-autoscaler, 1 in 30.2s over horizontal-pod-autoscaler",
			"horizontal-pod-autoscaler spec.replicas against script, 2 in 45.3s over script",
		}},
		"People": {"only the audit log distinguishes two people with kubectl", func(s *story) {
			for i := range uint64(3) {
				s.write("web", valued(replicas, 1+i%2), by("kubectl"))
				s.audited("web", "patch", person([]string{"user-a", "user-b"}[i%2]))
				s.wait(5 * time.Second)
			}
		}, []string{
			"kubectl spec.replicas",
			"kubectl spec.replicas",
			"kubectl spec.replicas against user-b, 1 in 10.2s over kubectl",
		}},
		"Remembered": {"the authors of forgotten versions are those of the audit log", func(s *story) {
			for i := range uint64(3) {
				who := []string{"user-a", "user-b"}[i%2]
				s.write("web", valued(replicas, 1+i%2), by(who))
				s.audited("web", "patch", person(who))
				s.write("web", arrived)
				s.wait(5 * time.Minute)
			}
		}, []string{
			"kubectl spec.replicas",
			"kubectl spec.replicas",
			"kubectl spec.replicas against user-b, 1 in 600.4s over kubectl",
		}},
		"No log": {"without the audit log, they may be one person", func(s *story) {
			for i := range uint64(3) {
				s.write("web", valued(replicas, 1+i%2), by("kubectl"))
				s.wait(5 * time.Second)
			}
		}, []string{"kubectl spec.replicas", "kubectl spec.replicas", "kubectl spec.replicas"}},
		"Label": {"a fight over a label", func(s *story) {
			for i := range uint64(4) {
				s.write("web", valued(tier, 1+i%2), by([]string{"x-operator", "y-operator"}[i%2]))
				s.wait(3 * time.Second)
			}
		}, []string{
			"x-operator metadata.labels.tier",
			"y-operator metadata.labels.tier",
			"x-operator metadata.labels.tier against y-operator, 1 in 6.2s over y-operator",
			"y-operator metadata.labels.tier against x-operator, 2 in 9.3s over x-operator",
		}},
		"Alone": {"one person cordons and uncordons", func(s *story) {
			for i := range uint64(6) {
				s.write("web", valued(tier, 1+i%2), by("x-operator"))
				s.wait(3 * time.Minute)
			}
		}, slices.Repeat([]string{"x-operator metadata.labels.tier"}, 4)}, // the others are a series
		"Minutes": {"the memory of forgotten versions has the rest of the fight", func(s *story) {
			for i := range uint64(4) {
				s.write("web", valued(replicas, 1+i%2), by([]string{"x-operator", "y-operator"}[i%2]))
				s.write("web", arrived)
				s.wait(30 * time.Minute)
			}
		}, []string{
			"x-operator spec.replicas",
			"y-operator spec.replicas",
			"x-operator spec.replicas against y-operator, 1 in 3600.4s over y-operator",
			"y-operator spec.replicas against x-operator, 2 in 5400.6s over x-operator",
		}},
		"Hours": {"after more than an hour, nothing is brought back", func(s *story) {
			for i := range uint64(4) {
				s.write("web", valued(replicas, 1+i%2), by([]string{"x-operator", "y-operator"}[i%2]))
				s.write("web", arrived)
				s.wait(61 * time.Minute)
			}
		}, []string{
			"x-operator spec.replicas", "y-operator spec.replicas",
			"x-operator spec.replicas", "y-operator spec.replicas",
		}},
		"Created": {"the value of the creation is corrected once", func(s *story) {
			s.write("web", valued(replicas, 2), by("user-a"))
			s.wait(time.Minute)
			s.write("web", valued(replicas, 9), by("kubectl-create"))
		}, []string{"user-a spec.replicas", "kubectl spec.replicas"}},
		"Drift": {"the first correction of a drift is no fight, the second is one", func(s *story) {
			s.write("apps", kustomization)
			s.wait(time.Minute)
			for range 3 {
				s.write("web", delivered, valued(replicas, 1), by("kustomize-controller"))
				s.wait(10 * time.Second)
				s.write("web", valued(replicas, 2), by("user-a"))
				s.wait(10 * time.Second)
			}
		}, []string{
			"kustomize-controller spec.replicas",
			"user-a spec.replicas",
			"kustomize-controller spec.replicas",
			"user-a spec.replicas against kustomize-controller, 2 in 30.3s over kustomize-controller",
			"kustomize-controller spec.replicas against user-a, 3 in 40.4s over user-a",
			"user-a spec.replicas against kustomize-controller, 4 in 50.5s over kustomize-controller",
		}},
		"Request": {"the object's own controller takes a request off", func(s *story) {
			s.write("web", reported)
			for range 3 {
				s.wait(time.Minute)
				s.write("web", valued(tier, 1), by("user-a"))
				s.wait(time.Minute)
				s.write("web", valued(tier, 0), reported)
			}
		}, slices.Repeat([]string{"user-a metadata.labels.tier"}, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("web", deployment(0), valued(replicas, 9), arrived)
			s.wait(time.Minute)
			tc.tell(s)
			end := s.now().Add(20 * time.Minute)
			if diff := cmp.Diff(tc.want, fights(observe(s.seen).Traces(end))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, fights)
			traces, _ := served(t, s)
			if diff := cmp.Diff(tc.want, fights(traces)); diff != "" {
				t.Errorf("%s, with looks and restarts: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// served returns the traces and amendments of a server that looks every second, and restarts every
// seven minutes. It forgets the memory of the fights in the end.
func served(t *testing.T, s *story) (out, added []*span.Trace) {
	t.Helper()
	e, at := New(Options{Cluster: "test"}), epoch
	until := func(end time.Time) {
		for ; at.Before(end); at = at.Add(time.Second) {
			out, added = append(out, e.Take(at)...), append(added, e.Amendments()...)
			if at.Sub(epoch)%(7*time.Minute) == 0 {
				e = restored(t, e)
			}
		}
	}
	for _, o := range s.seen {
		until(o.Seen)
		e.Observe(o)
	}
	until(s.now().Add(time.Minute))
	for range 30 {
		at = at.Add(3 * time.Minute)
		out, added = append(out, e.Take(at)...), append(added, e.Amendments()...)
	}
	if len(e.memory.contests) > 0 {
		t.Errorf("%d objects with old writes are remembered", len(e.memory.contests))
	}
	return out, added
}

// owned gives the changed number of replicas to the manager with that bit.
func owned(bit uint64) func(*observation.State) {
	return func(st *observation.State) {
		for i := range st.Leaves {
			if st.Leaves[i].Path == replicas {
				st.Leaves[i].Managers = bit
			}
		}
	}
}

// reported is a status by the controller web-controller, as the only manager.
func reported(st *observation.State) {
	at := epoch.Add(time.Duration(st.ResourceVersion) * time.Second)
	st.Managers = []observation.Manager{
		{Name: "web-controller", Operation: "Update", Time: at, Fields: st.ResourceVersion},
		{Name: "web-controller", Operation: "Update", Subresource: "status", Fields: st.ResourceVersion},
	}
}

// kustomization is an idle Kustomization of Flux. delivered is an object that it applies.
func kustomization(st *observation.State) {
	ofKind(applied.Group, applied.Kind)(st)
	st.ObservedGeneration, st.Progress = 1, observation.ProgressCurrent
}

func delivered(st *observation.State) {
	st.Relations = []object.Relation{{Type: object.Applied, To: applied}}
}

var applied = kind.KustomizationName("default", "apps")

// fights returns the changes of web: the author, the fields, the opponents and the number, and the
// author of the change that the link leads to.
func fights(traces []*span.Trace) []string {
	var out []string
	authors := map[string]string{}
	slices.SortFunc(traces, func(a, b *span.Trace) int { return a.Root().Start.Compare(b.Root().Start.Time) })
	for _, tr := range traces {
		root := tr.Root()
		if root.Object.Name != "web" || root.Start.Time.Before(epoch.Add(time.Minute)) {
			continue
		}
		var line string
		for _, kv := range root.Attributes {
			switch kv.Key {
			case span.KeyActor:
				line = kv.Value.AsString()
				authors[root.ID.String()] = line
			case span.KeyFields:
				line += " " + strings.Join(kv.Value.AsStringSlice(), " ")
			case span.KeyFightOpponents:
				line += " against " + strings.Join(kv.Value.AsStringSlice(), " ")
			case span.KeyFightCount:
				line += fmt.Sprintf(", %d", kv.Value.AsInt64())
			case span.KeyFightDuration:
				line += fmt.Sprintf(" in %.1fs", kv.Value.AsFloat64())
			}
		}
		for _, l := range root.Links {
			if l.Reason == tree.LinkFight {
				line += " over " + authors[l.SpanID.String()]
			}
		}
		out = append(out, line)
	}
	return out
}

// TestFightLong: a fight over a label for an hour is eight traces. The others are counted as series,
// with the length of the fight, and nothing grows.
func TestFightLong(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0), valued(replicas, 9), arrived)
	s.wait(time.Minute)
	for i := range uint64(720) {
		s.write("web", valued(tier, 1+i%2), by([]string{"x-operator", "y-operator"}[i%2]))
		s.wait(5 * time.Second)
	}
	traces, added := served(t, s)
	got := fights(traces)
	if len(got) != 2*change.SeriesBegins {
		t.Errorf("%d traces, want %d: %v", len(got), 2*change.SeriesBegins, got)
	}
	if !strings.Contains(got[len(got)-1], "against x-operator, 6") {
		t.Errorf("the last trace is %q", got[len(got)-1])
	}
	var counts []string
	for _, tr := range added {
		for _, sp := range tr.Spans {
			counts = append(counts, fmt.Sprintf("%d more of %s against %s, %s", repeats(sp), sp.Service,
				attributeText(sp, span.KeyFightOpponents), attributeText(sp, span.KeyFightCount)))
		}
	}
	slices.Sort(counts)
	want := []string{
		"356 more of x-operator against [\"y-operator\"], 718",
		"356 more of y-operator against [\"x-operator\"], 718",
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("amendments: -want +got:\n%s", diff)
	}
}

func attributeText(sp *span.Span, key attribute.Key) string {
	for _, kv := range sp.Attributes {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

// TestFightFast: two operators overwrite each other twice a second, so that a trace is always open.
// Each change is in one trace with its number, and the oldest versions are forgotten.
func TestFightFast(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0), valued(replicas, 9), arrived)
	s.wait(time.Minute)
	const writes = 600
	for i := range uint64(writes) {
		s.write("web", valued(replicas, 1+i%2), by([]string{"x-operator", "y-operator"}[i%2]))
		s.wait(400 * time.Millisecond)
	}
	e, at, most := New(Options{Cluster: "test"}), epoch, 0
	var traces []*span.Trace
	for _, o := range s.seen {
		for ; at.Before(o.Seen); at = at.Add(time.Second) {
			traces = append(traces, e.Take(at)...)
			if late := e.Amendments(); len(late) > 0 {
				t.Errorf("late: %s", outline(late))
			}
		}
		e.Observe(o)
		most = max(most, len(e.index.Objects()["uid-web"].Versions))
	}
	if most > maxVersions+8 {
		t.Errorf("%d versions were kept, want about %d", most, maxVersions)
	}
	traces = append(traces, e.Take(at.Add(2*time.Hour))...)
	got := fights(traces)
	if len(got) != writes {
		t.Fatalf("%d traces, want %d", len(got), writes)
	}
	for i, line := range got {
		who, other := "x-operator", "y-operator"
		if i%2 == 1 {
			who, other = other, who
		}
		want := who + " spec.replicas"
		if i > 1 {
			want += fmt.Sprintf(" against %s, %d in %.1fs over %s", other, i-1, float64(i)/2, other)
		}
		if line != want {
			t.Errorf("change %d is %q, want %q", i, line, want)
		}
	}
}
