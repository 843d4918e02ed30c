// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// stored identifies a stored write.
type stored struct {
	uid string
	rv  uint64
}

// desiredWrites returns the writes of a recording that must be in a trace: creations, starts of
// deletions, removals without such a start, and changes of fields outside the status and
// bookkeeping. It reads the observations alone.
func desiredWrites(seen []*observation.Observation) map[stored]string {
	states := map[string][]*observation.Observation{}
	for _, o := range seen {
		if o.State != nil {
			states[string(o.State.UID)] = append(states[string(o.State.UID)], o)
		}
	}
	out := map[stored]string{}
	note := func(s *observation.State, what string) {
		out[stored{string(s.UID), s.ResourceVersion}] = fmt.Sprintf("%s %s %s", what, s.Kind.Kind, s.Name)
	}
	deleting := map[string]bool{}
	for uid, list := range states {
		slices.SortFunc(list, func(a, b *observation.Observation) int {
			return cmp.Compare(a.State.ResourceVersion, b.State.ResourceVersion)
		})
		// Objects for the internal use of a component of Kubernetes are noise.
		if first := list[0].State; !list[0].Baseline && (first.Reconciled || !isOfComponent(first)) {
			note(first, "create")
		}
		for i := 1; i < len(list); i++ {
			before, after := list[i-1].State, list[i].State
			switch {
			case before.ResourceVersion == after.ResourceVersion:
			case before.Deleting.IsZero() && !after.Deleting.IsZero():
				note(after, "delete")
			case isStep(before, after):
				note(after, stepOf)
			case differs(before, after):
				note(after, "update")
			}
		}
		deleting[uid] = !list[len(list)-1].State.Deleting.IsZero()
	}
	for _, o := range seen {
		if o.Gone != nil && !deleting[string(o.Gone.UID)] && len(states[string(o.Gone.UID)]) > 0 {
			out[stored{string(o.Gone.UID), o.Gone.ResourceVersion}] = "delete " + o.Gone.Kind.Kind + " " + o.Gone.Name
		}
	}
	return out
}

// stepOf begins the description of a write that may be missing in the traces.
const stepOf = "step of"

// isStep reports whether a component of Kubernetes changed labels or annotations alone, or updated one
// of its EndpointSlices.
func isStep(a, b *observation.State) bool {
	if a.Leaves == nil || b.Leaves == nil {
		return false
	}
	if b.Endpoints != nil && object.ControllerOf(b.Owners) != nil && len(b.Managers) == 1 && isOfComponent(b) {
		return true
	}
	k, changed, other := kind.Of(a.Group, a.Kind.Kind), false, false
	history.CompareFields(a.Leaves, b.Leaves, func(path string, _ *observation.Leaf) {
		part := k.Part(path)
		changed, other = changed || part == kind.Metadata, other || part&^(kind.Metadata|kind.Bookkeeping) != 0
	})
	wrote := slices.DeleteFunc(slices.Clone(b.Managers), func(m observation.Manager) bool {
		return slices.Contains(a.Managers, m)
	})
	// A second write in one second leaves no mark.
	byComponent := len(wrote) > 0 || object.ControllerOf(b.Owners) != nil
	return changed && !other && byComponent && !slices.ContainsFunc(wrote, func(m observation.Manager) bool {
		return !kind.IsComponent(m.Name)
	})
}

// isOfComponent reports whether a component of Kubernetes made the object.
func isOfComponent(s *observation.State) bool {
	return len(s.Managers) > 0 && kind.IsComponent(s.Managers[0].Name)
}

// differs reports whether fields outside the status and bookkeeping differ.
func differs(a, b *observation.State) bool {
	if a.Leaves == nil || b.Leaves == nil {
		return a.Generation < b.Generation
	}
	k := kind.Of(a.Group, a.Kind.Kind)
	changed := false
	history.CompareFields(a.Leaves, b.Leaves, func(path string, after *observation.Leaf) {
		if path != observation.PathData || !k.MetadataOnly {
			changed = changed || k.Part(path) != kind.Bookkeeping
		}
	})
	return changed
}

// toldWrites adds to out how often each stored write is in the traces: as an event, or as a span.
func toldWrites(out map[stored]int, traces []*span.Trace) {
	for _, tr := range traces {
		for _, s := range tr.Spans {
			if rv := number(s.Attributes, span.KeyRV); rv > 0 && s.Name != span.NameAmend {
				out[stored{string(s.Object.UID), rv}]++
			}
			for _, e := range s.Events {
				if e.Name != span.EventWrite || number(e.Attributes, span.KeyRepeats) > 0 {
					continue
				}
				uid := string(s.Object.UID)
				for _, kv := range e.Attributes {
					if kv.Key == span.KeyUID {
						uid = kv.Value.AsString()
					}
				}
				out[stored{uid, number(e.Attributes, span.KeyRV)}]++
			}
		}
	}
}

func number(attrs []attribute.KeyValue, key attribute.Key) uint64 {
	for _, kv := range attrs {
		if kv.Key == key {
			return uint64(kv.Value.AsInt64())
		}
	}
	return 0
}

// TestOnce checks that each desired write is in exactly one trace, also with traces handed out in
// between.
func TestOnce(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range append(paths, traffic) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recorded := read(t, path)
			from, to, tried := uint64(0), uint64(20), disorders
			if testing.Short() { // one seed and one disorder, for every second recording with restarts
				from = uint64(i) % to
				to = from + 1
				tried = disorders[i/2%len(disorders):][:1]
			} else {
				t.Run("Restarts", func(t *testing.T) { tellsOnce(t, recorded, 5*time.Second) })
			}
			if !testing.Short() || tried[0].name == "Late" { // which leaves out the begin of the recording
				t.Run("AsSeen", func(t *testing.T) { tellsOnce(t, recorded, 0) })
			}
			for seed := from; seed < to; seed++ {
				restart := time.Duration(seed%2) * 5 * time.Second
				for _, disorder := range tried {
					t.Run(fmt.Sprintf("%s/%d", disorder.name, seed), func(t *testing.T) {
						tellsOnce(t, disorder.of(recorded, seed), restart)
					})
				}
			}
		})
	}
}

// disorders are the ways in which observations arrive late.
var disorders = []struct {
	name string
	of   func([]*observation.Observation, uint64) []*observation.Observation
}{
	{"Lag", lagging},
	{"Late", func(recorded []*observation.Observation, seed uint64) []*observation.Observation {
		return lagging(begunLate(recorded, seed), seed)
	}},
	{"Mixed", mixed},
}

// lagging returns the observations with the watch of each kind up to 10 s late.
func lagging(seen []*observation.Observation, seed uint64) []*observation.Observation {
	return delayed(seen, seed, func(kind string) string { return kind })
}

// delayed returns the observations up to 10 s late, in the order of arrival. The kinds with one watch are
// equally late.
func delayed(seen []*observation.Observation, seed uint64, watch func(kind string) string) []*observation.Observation {
	random := rand.New(rand.NewPCG(seed, 0))
	lags := map[string]time.Duration{}
	out := make([]*observation.Observation, 0, len(seen))
	for _, o := range seen {
		var kind string
		switch {
		case o.State != nil:
			kind = o.State.Kind.Kind
		case o.Gone != nil:
			kind = o.Gone.Kind.Kind
		case o.Event != nil:
			kind = "Event"
		}
		lag, known := lags[watch(kind)]
		if !known {
			lag = time.Duration(random.Int64N(int64(10 * time.Second)))
			lags[watch(kind)] = lag
		}
		late := *o
		if !o.Baseline && kind != "" {
			late.Seen = o.Seen.Add(lag)
		}
		out = append(out, &late)
	}
	slices.SortStableFunc(out, func(a, b *observation.Observation) int { return a.Seen.Compare(b.Seen) })
	return out
}

// begunLate returns the observations of an observer that begins at a random moment in the middle.
func begunLate(seen []*observation.Observation, seed uint64) []*observation.Observation {
	return begunAt(seen, int(rand.New(rand.NewPCG(seed, 1)).Uint64N(uint64(len(seen)))))
}

// mixed returns the observations of each 200 ms in any order, some of them twice.
func mixed(seen []*observation.Observation, seed uint64) []*observation.Observation {
	random := rand.New(rand.NewPCG(seed, 2))
	out := slices.Clone(seen)
	for _, o := range seen {
		if random.IntN(4) == 0 {
			again := *o
			again.Seen = o.Seen.Add(time.Duration(random.Int64N(int64(time.Second))))
			out = append(out, &again)
		}
	}
	key := map[*observation.Observation]int64{}
	for _, o := range out {
		key[o] = o.Seen.UnixMilli()/200<<20 | random.Int64N(1<<20)
	}
	slices.SortStableFunc(out, func(a, b *observation.Observation) int { return cmp.Compare(key[a], key[b]) })
	return out
}

// TestOnceUnobserved checks that each desired update is in exactly one trace if only the audit log
// shows it, also if its event arrives after the handout of the trace.
func TestOnceUnobserved(t *testing.T) {
	found, seeds := 0, uint64(4)
	restarts := []time.Duration{0, 5 * time.Second}
	if testing.Short() {
		seeds, restarts = 1, []time.Duration{20 * time.Second}
	}
	for name, recorded := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				gaps, updates := unobserved(recorded, seed)
				found += len(updates)
				for _, restart := range restarts {
					told, _ := handedOut(t, gaps, restart)
					for w := range updates {
						if told[w] != 1 {
							t.Errorf(
								"seed %d, restart %s: the update with resourceVersion %d is in the traces %d times",
								seed,
								restart,
								w.rv,
								told[w],
							)
						}
					}
				}
			}
		})
	}
	if found < 20 {
		t.Errorf("%d updates that only the audit log shows, want at least 20", found)
	}
}

// unobserved returns the observations without some updates of the spec, and these updates. The audit
// log has an event of each, which arrives up to 40 s late. An update before many others stays: the
// engine remembers few reconciliations of an object.
func unobserved(seen []*observation.Observation, seed uint64) ([]*observation.Observation, map[stored]bool) {
	random := rand.New(rand.NewPCG(seed, 3))
	requested := map[stored]bool{}
	newest, before := map[types.UID]*observation.State{}, map[types.UID]*observation.State{}
	for _, o := range seen {
		switch {
		case o.Write != nil:
			requested[stored{string(o.Write.UID), o.Write.ResourceVersion}] = true
		case o.State != nil:
			if known := newest[o.State.UID]; known == nil || known.ResourceVersion < o.State.ResourceVersion {
				newest[o.State.UID] = o.State
			}
		}
	}
	updates := map[stored]bool{}
	out := make([]*observation.Observation, 0, len(seen))
	for _, o := range seen {
		if o.State == nil {
			out = append(out, o)
			continue
		}
		w, last := stored{string(o.State.UID), o.State.ResourceVersion}, before[o.State.UID]
		before[o.State.UID] = o.State
		end := newest[o.State.UID]
		if last == nil || last.Endpoints != nil || last.Generation == 0 || last.Generation >= o.State.Generation ||
			!o.State.Deleting.IsZero() || requested[w] || w.rv == end.ResourceVersion ||
			end.Generation-o.State.Generation >= change.MaxEarlier || random.IntN(2) == 0 {
			out = append(out, o)
			continue
		}
		updates[w] = true
		out = append(out, &observation.Observation{
			Seen: o.Seen.Add(time.Duration(random.Int64N(int64(40 * time.Second)))), Source: observation.SourceAudit,
			Write: &observation.Write{
				Ref: o.State.Ref, Resource: strings.ToLower(o.State.Kind.Kind) + "s", Verb: "update", Code: 200,
				ResourceVersion: w.rv, Generation: o.State.Generation,
				Start: o.Seen.Add(-2 * time.Millisecond), End: o.Seen.Add(-time.Millisecond),
				AuditID: fmt.Sprintf("audit-%d", w.rv), User: "jane", UserAgent: "kubectl/v1.36.3", Manager: "kubectl",
			},
		})
	}
	slices.SortStableFunc(out, func(a, b *observation.Observation) int { return a.Seen.Compare(b.Seen) })
	return out, updates
}

func tellsOnce(t *testing.T, seen []*observation.Observation, restart time.Duration) {
	t.Helper()
	told, counted := handedOut(t, seen, restart)
	var pending []string
	for w, what := range desiredWrites(seen) {
		switch n := told[w]; {
		case n == 0 && strings.HasPrefix(what, stepOf):
		case n == 0:
			pending = append(pending, fmt.Sprintf("%s, resourceVersion %d", what, w.rv))
		case n > 1:
			t.Errorf("%s, resourceVersion %d: in the traces %d times", what, w.rv, n)
		}
	}
	if int64(len(pending)) != counted {
		slices.Sort(pending)
		t.Errorf("no trace has these, and %d are counted in series: %v", counted, pending)
	}
}

// handedOut returns how often each stored write is in the traces of an engine, and the number of
// writes that series count. A look takes place each 500 ms. The engine is restored from its saved
// state after each interval of restart, if it is not zero.
func handedOut(
	t *testing.T,
	seen []*observation.Observation,
	restart time.Duration,
) (told map[stored]int, counted int64) {
	t.Helper()
	e, at := New(Options{Cluster: "test"}), seen[0].Seen
	told = map[stored]int{}
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(500 * time.Millisecond) {
			toldWrites(told, e.Take(at))
			late := e.Amendments()
			toldWrites(told, late)
			for _, tr := range late {
				for _, s := range tr.Spans {
					counted += repeats(s)
				}
			}
			if restart > 0 && at.Sub(seen[0].Seen)%restart < 500*time.Millisecond {
				e = restored(t, e)
			}
		}
	}
	for _, o := range seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(at.Add(20 * time.Minute)) // until each series has ended
	toldWrites(told, e.Traces(at))
	return told, counted
}
