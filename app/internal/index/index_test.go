// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// world are observations of every kind of look-up: owners, names, relations, Nodes and reused names. They change.
func world() []*observation.Observation {
	key := object.DeclaredName("claims", "key")
	old := version("old", 3, named("shared"), controlledBy("up"))
	lost := version("node-a", 8, node, named("node-1"), ready("True"))
	return []*observation.Observation{
		version("up", 1),
		version("up", 20, refers(object.Cause, key)),
		version("dep", 2, controlledBy("up"), refers(object.Config, configMap("shared"))),
		version("dep", 21, controlledBy("other"), plainlyOwned("up")),
		version("dep", 30, controlledBy("other"), refers(object.Effect, key)),
		version("strange", 4, controlledBy("up"), in("elsewhere")),
		old,
		removal(old, 5),
		version("new", 6, named("shared"), refers(object.Source, configMap("up"))),
		version("other", 7, ofKind(&kind.Secret)),
		lost,
		version("node-a", 9, node, named("node-1"), ready("Unknown")),
		removal(lost, 10),
		version("node-b", 11, node, named("node-1"), ready("False")),
		version("node-b", 12, node, named("node-1"), ready("True")),
		version("claim", 13, ofKind(&kind.PersistentVolumeClaim), named("data-db-0")),
		version("pod", 14, ofKind(&kind.Pod), on(""), refers(object.Nominated, change.NodeName("node-1"))),
		version("pod", 15, ofKind(&kind.Pod), on("node-1")),
		baseline(version("found", 16, plainlyOwned("up"), plainlyOwned("other"))),
	}
}

// TestAnyOrder: the observations are a set. Any order of them, with repetitions, gives the same look-ups. Without all
// objects nothing is left.
func TestAnyOrder(t *testing.T) {
	first := New()
	observe(first, world()...)
	want := outline(first)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := world()
		for range r.IntN(6) {
			all = append(all, all[r.IntN(len(all))])
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		x := New()
		for i, o := range all {
			if seed%2 == 0 && i == len(all)/2 {
				x.View().BySubject(Subject{}) // the look-up by name exists from now on
			}
			observe(x, o)
		}
		if diff := cmp.Diff(want, outline(x)); diff != "" {
			t.Fatalf("order %d gives other look-ups (-first +shuffled):\n%s", seed, diff)
		}
		left := slices.Collect(func(yield func(*change.Timeline) bool) {
			for _, o := range x.objects {
				if !yield(o) {
					return
				}
			}
		})
		r.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		for _, o := range left {
			x.Remove(o)
		}
		isEmpty(t, x)
	}
}

// isEmpty fails the test if a look-up has an entry.
func isEmpty(t *testing.T, x *Index) {
	t.Helper()
	if got := outline(x); got != "" {
		t.Fatalf("look-ups without an object:\n%s", got)
	}
	if n := len(x.nodes.newest) + len(x.attributes) + len(x.names); n != 0 {
		t.Fatalf("%d Nodes and names are left", n)
	}
}

// FuzzPutAndRemove: after any sequence of additions and removals, the look-ups are those of a new Index with the
// remaining observations.
func FuzzPutAndRemove(f *testing.F) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 5+r.IntN(60))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, x := world(), New()
		kept := map[types.UID][]*observation.Observation{}
		for _, b := range data {
			o := all[int(b)%len(all)]
			ref := refOf(o)
			switch t := x.objects[ref.UID]; {
			case b >= 200 && t != nil && ref.UID != "node-b": // its name does not return to an older Node
				x.Remove(t)
				delete(kept, ref.UID)
			case b == 199:
				x.View().BySubject(Subject{})
			default:
				observe(x, o)
				kept[ref.UID] = append(kept[ref.UID], o)
			}
		}
		again := New()
		for _, list := range kept {
			observe(again, list...)
		}
		if diff := cmp.Diff(outline(again), outline(x)); diff != "" {
			t.Fatalf("the look-ups differ from those of a new Index (-new +changed):\n%s", diff)
		}
	})
}

func refOf(o *observation.Observation) object.Ref {
	if o.State != nil {
		return o.State.Ref
	}
	return o.Gone.Ref
}

// TestRestored: restored timelines give the look-ups of observed ones.
func TestRestored(t *testing.T) {
	x := New()
	observe(x, world()...)
	again := New()
	for _, o := range x.objects {
		restored := &change.Timeline{Record: o.Record}
		restored.Extra = nil
		again.Restore(restored)
	}
	for _, o := range again.objects {
		again.Complete(o)
	}
	if diff := cmp.Diff(outline(x), outline(again)); diff != "" {
		t.Errorf("the look-ups after a restoration (-before +after):\n%s", diff)
	}
}

// TestPut: the result has the effects of an added version.
func TestPut(t *testing.T) {
	shop := []object.Owner{{Kind: kind.Service.Kind, Name: "shop", UID: "shop", Controller: true}}
	// slice is a version of an EndpointSlice by its controller.
	slice := func(rv uint64) *observation.Observation {
		return version("slice", rv, ofKind(&kind.EndpointSlice), func(st *observation.State) {
			st.Owners = shop
			st.Managers = []observation.Manager{{Name: change.Manager, Operation: "Update", Fields: 1}}
			st.Leaves = []observation.Leaf{{Path: "endpoints[0]", Value: rv, Managers: 1}}
		})
	}
	up := object.Owner{Kind: kind.ConfigMap.Kind, Name: "up", UID: "up", Controller: true}
	for name, tc := range map[string]struct {
		reason  string
		before  []*observation.Observation
		put     *observation.Observation
		grouped bool
		want    Put
		// doubtful are the UIDs of the doubtful objects.
		doubtful []string
	}{
		"First": {"one version", nil, version("a", 1), false, Put{Versions: 1}, nil},
		"Again": {
			"a known version", []*observation.Observation{version("a", 1)}, version("a", 1), false, Put{}, nil,
		},
		"Baseline": {
			"from before the start", nil, baseline(version("a", 1)), false, Put{Versions: 1, Baselines: 1}, nil,
		},
		"No baseline": {
			"the version was a write", []*observation.Observation{baseline(version("a", 1))}, version("a", 1), false,
			Put{Baselines: -1}, nil,
		},
		"Owners before": {
			"the owners change", []*observation.Observation{version("a", 1, controlledBy("up"))},
			version("a", 2, controlledBy("other")), false, Put{Versions: 1, Above: []object.Owner{up}}, nil,
		},
		"Name in use": {
			"requests by name may be for either object", []*observation.Observation{version("b", 1, named("a"))},
			version("a", 2), false, Put{Versions: 1}, []string{"b"},
		},
		"New name": {
			"the old name may mean one object less",
			[]*observation.Observation{version("b", 1, named("x")), version("a", 2, named("x"))},
			version("a", 3, named("y")), false, Put{Versions: 1}, []string{"b"},
		},
		"Absorbed": {
			"a mere update supersedes the baseline", []*observation.Observation{baseline(slice(1))}, slice(2), false,
			Put{Versions: 1, Absorbed: 1, Quiet: true}, nil,
		},
		"Absorbed in a group": {
			"conclusions are under way", []*observation.Observation{baseline(slice(1))}, slice(2), true,
			Put{Versions: 1, Absorbed: 1, Above: shop}, nil,
		},
		"Absorbed between": {
			"the slice is no baseline alone", []*observation.Observation{slice(1), slice(2)}, slice(3), false,
			Put{Versions: 1, Absorbed: 1, Above: shop}, nil,
		},
		"First of a slice": {
			"nothing is superseded", nil, baseline(slice(1)), false, Put{Versions: 1, Baselines: 1}, nil,
		},
		"By a person": {
			"another author's update is kept", []*observation.Observation{baseline(slice(1))},
			version("slice", 2, ofKind(&kind.EndpointSlice)), false, Put{Versions: 1, Above: shop}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := New()
			x.View().BySubject(Subject{})
			observe(x, tc.before...)
			got := x.Put(x.Timeline(tc.put.State.Ref), tc.put, tc.grouped, true)
			doubtful := uids(got.Doubtful)
			got.Doubtful = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if !slices.Equal(slices.Compact(doubtful), tc.doubtful) {
				t.Errorf("%s: doubtful %v, want %v", tc.reason, doubtful, tc.doubtful)
			}
		})
	}
}

// TestPutKeeps: without absorb, and with requests of the audit log, each version of an EndpointSlice is kept.
func TestPutKeeps(t *testing.T) {
	slice := func(rv uint64) *observation.Observation {
		return version("slice", rv, ofKind(&kind.EndpointSlice), func(st *observation.State) {
			st.Owners = []object.Owner{{Kind: kind.Service.Kind, Name: "shop", UID: "shop", Controller: true}}
		})
	}
	for name, tc := range map[string]struct {
		absorb, audited bool
		want            int
	}{"Absorb": {true, false, 1}, "Keep": {false, false, 2}, "Audited": {true, true, 2}} {
		t.Run(name, func(t *testing.T) {
			x := New()
			o := x.Timeline(slice(1).State.Ref)
			x.Put(o, baseline(slice(1)), false, tc.absorb)
			if tc.audited {
				o.Audits = &change.Audits{}
			}
			x.Put(o, slice(2), false, tc.absorb)
			if len(o.Versions) != tc.want {
				t.Errorf("%d versions, want %d", len(o.Versions), tc.want)
			}
		})
	}
}

// TestNameless: an object with only a UID, as in an Event, has no name to look up.
func TestNameless(t *testing.T) {
	x := New()
	x.View().BySubject(Subject{})
	observe(x, version("a", 1, named("")), version("b", 2, named("")))
	if got := x.View().BySubject(Subject{Kind: "ConfigMap", Namespace: "default"}); len(got) != 0 {
		t.Errorf("%v have the empty name", uids(got))
	}
}

// TestPutGone: the first removal is reported, and other objects of the name are doubtful.
func TestPutGone(t *testing.T) {
	x := New()
	x.View().BySubject(Subject{})
	a, b := version("a", 1, named("x")), version("b", 2, named("x"))
	observe(x, a, b)
	first, doubtful := x.PutGone(x.Timeline(a.State.Ref), removal(a, 3))
	if !first || !slices.Contains(uids(doubtful), "b") {
		t.Errorf("first %t, doubtful %v; want the first one, and b", first, uids(doubtful))
	}
	if again, _ := x.PutGone(x.Timeline(a.State.Ref), removal(a, 3)); again {
		t.Error("the same removal is the first one again")
	}
	if _, doubtful := x.Remove(x.objects["a"]); !slices.Equal(uids(doubtful), []string{"b"}) {
		t.Errorf("without a, %v are doubtful; want b", uids(doubtful))
	}
}

// TestMatches: each new pair of related objects counts once, by relation.
func TestMatches(t *testing.T) {
	key, other := object.DeclaredName("claims", "key"), object.DeclaredName("claims", "other")
	one := map[string]uint64{"claims": 1}
	all := func(o ...*observation.Observation) []*observation.Observation { return o }
	cause := func(uid string, rv uint64) *observation.Observation {
		return version(uid, rv, refers(object.Cause, key))
	}
	effect := func(uid string, rv uint64) *observation.Observation {
		return version(uid, rv, refers(object.Effect, key))
	}
	for name, tc := range map[string]struct {
		reason string
		all    []*observation.Observation
		want   map[string]uint64
	}{
		"Cause first":  {"the effect makes the pair", all(cause("c", 1), effect("e", 2)), one},
		"Effect first": {"the cause makes the pair", all(effect("e", 1), cause("c", 2)), one},
		"Other key": {
			"the keys differ", all(cause("c", 1), version("e", 2, refers(object.Effect, other))), map[string]uint64{},
		},
		"No key": {
			"another name is in no relation",
			all(version("c", 1), version("e", 2, refers(object.Config, configMap("c")))),
			map[string]uint64{},
		},
		"Unchanged": {
			"a further version makes no pair", all(cause("c", 1), effect("e", 2), effect("e", 3)),
			one,
		},
		"Two effects": {
			"each makes a pair", all(cause("c", 1), effect("e", 2), effect("f", 3)), map[string]uint64{"claims": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := New()
			observe(x, tc.all...)
			if diff := cmp.Diff(tc.want, x.Matches()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRefused: a request without an object has a key, and the same request is kept once.
func TestRefused(t *testing.T) {
	x := New()
	a := &observation.Write{AuditID: "a", Code: 403}
	for _, w := range []*observation.Write{
		a, a, {AuditID: "a", TraceParent: "00-1", Code: 403}, {Code: 403}, {Start: epoch, Code: 403},
		{Start: epoch, Code: 403, Ref: object.Ref{Name: "x"}},
	} {
		x.AddRefused(w)
	}
	if got := len(x.Refused()); got != 5 {
		t.Errorf("%d requests, want 5 of 6", got)
	}
	for key := range x.View().Refused() {
		x.ForgetRefused(key)
	}
	if got := len(x.Refused()); got != 0 {
		t.Errorf("%d requests are left", got)
	}
}
