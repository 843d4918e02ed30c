// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestOwners: an owner is in the same namespace as its dependant, or in none.
func TestOwners(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		up, dep trait
		known   bool
		// owns is the result for the ownerReference, and above that of the owner.
		owns, above, dependant bool
	}{
		"Same namespace": {"the owner is there", in("default"), controlledBy("up"), true, true, true, true},
		"Cluster-scoped": {"the owner is in none", in(""), controlledBy("up"), true, true, true, true},
		"Another namespace": {
			"an author could write any UID", in("other"), controlledBy("up"), true, false, false, false,
		},
		"Unknown":        {"the owner is unknown", in("default"), controlledBy("up"), false, true, false, true},
		"Not controller": {"it has no controller", in("default"), plainlyOwned("up"), true, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := New()
			if tc.known {
				observe(x, version("up", 1, tc.up))
			}
			observe(x, version("dep", 2, tc.dep))
			v := x.View()
			dep := v.Object("dep")
			if got := v.Owns(dep.Owners()[0], dep); got != tc.owns {
				t.Errorf("%s: owns %t, want %t", tc.reason, got, tc.owns)
			}
			if got := v.Above(dep) != nil; got != tc.above {
				t.Errorf("%s: a controller above %t, want %t", tc.reason, got, tc.above)
			}
			if got := slices.Contains(v.Dependants("up"), dep); got != tc.dependant {
				t.Errorf("%s: dependant %t, want %t", tc.reason, got, tc.dependant)
			}
			if got := v.Controller(dep) != nil; got != (tc.owns && dep.Owners()[0].Controller) {
				t.Errorf("%s: controller %t", tc.reason, got)
			}
			if !slices.Contains(v.Claiming("up"), dep) {
				t.Errorf("%s: the object does not claim its owner", tc.reason)
			}
		})
	}
}

// TestDependants: the look-up leaves its list as it is.
func TestDependants(t *testing.T) {
	x := New()
	observe(x, version("up", 1), version("strange", 2, controlledBy("up"), in("other")),
		version("dep", 3, controlledBy("up")))
	v := x.View()
	for range 2 {
		if diff := cmp.Diff([]string{"dep"}, uids(v.Dependants("up"))); diff != "" {
			t.Errorf("dependants (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"dep", "strange"}, uids(v.Claiming("up"))); diff != "" {
		t.Errorf("claiming (-want +got):\n%s", diff)
	}
}

// TestNode: the newest Node of a name counts, until its removal.
func TestNode(t *testing.T) {
	a := version("a", 1, node, named("node-1"), ready("True"))
	b := version("b", 3, node, named("node-1"), ready("False"))
	for name, tc := range map[string]struct {
		reason string
		tell   func(*Index)
		want   string
		// turned are the Nodes that are gone, or have a new readiness, after the first version of a.
		turned []string
	}{
		"One": {"the only one", func(*Index) {}, "a", nil},
		"Ready again": {"nothing changed", func(x *Index) {
			observe(x, version("a", 2, node, named("node-1"), ready("True")))
		}, "a", nil},
		"Not ready": {"the readiness changed", func(x *Index) {
			observe(x, version("a", 2, node, named("node-1"), ready("Unknown")))
		}, "a", []string{"node-1"}},
		"Silent": {"a Node without a condition works, as far as is known", func(x *Index) {
			observe(x, version("a", 2, node, named("node-1")))
		}, "a", nil},
		"Replaced": {"a newer Node has its name", func(x *Index) { observe(x, b) }, "b", []string{"node-1"}},
		"Removed":  {"it is gone", func(x *Index) { observe(x, removal(a, 2)) }, "", []string{"node-1"}},
		"Newest removed": {"the newest one is gone", func(x *Index) {
			observe(x, b, removal(b, 4))
		}, "", []string{"node-1"}},
		"Old forgotten": {"the older one is forgotten", func(x *Index) {
			observe(x, b)
			x.Remove(x.objects["a"])
		}, "b", []string{"node-1"}},
		"Removed while it did not work": {"its Pods lose the reason", func(x *Index) {
			observe(x, version("a", 2, node, named("node-1"), ready("False")))
			x.TakeTurned()
			observe(x, removal(a, 3))
		}, "", []string{"node-1"}},
		"Ready after a failure": {"the readiness changed", func(x *Index) {
			observe(x, version("a", 2, node, named("node-1"), ready("False")))
			x.TakeTurned()
			observe(x, version("a", 3, node, named("node-1"), ready("True")))
		}, "a", []string{"node-1"}},
		"Still not ready": {"nothing changed", func(x *Index) {
			observe(x, version("a", 2, node, named("node-1"), ready("False")))
			x.TakeTurned()
			observe(x, version("a", 3, node, named("node-1"), ready("False")))
		}, "a", nil},
		"Another kind": {"it only has the name of the Node", func(x *Index) {
			observe(x, version("z", 5, named("node-1"), ready("False")))
		}, "a", nil},
		"Forgotten": {"the only one is forgotten", func(x *Index) { x.Remove(x.objects["a"]) }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := New()
			observe(x, a)
			x.TakeTurned()
			tc.tell(x)
			got := ""
			if v := x.View().Node("node-1"); v != nil {
				got = string(v.UID)
			}
			if got != tc.want {
				t.Errorf("%s: the Node is %q, want %q", tc.reason, got, tc.want)
			}
			var turned []string
			for name := range x.TakeTurned() {
				turned = append(turned, name)
			}
			if diff := cmp.Diff(tc.turned, turned); diff != "" {
				t.Errorf("%s: turned (-want +got):\n%s", tc.reason, diff)
			}
			if x.TakeTurned() != nil {
				t.Errorf("%s: the Nodes are returned again", tc.reason)
			}
		})
	}
}

// TestNodeAttributes: the attributes of a Node go with the last Node of its name.
func TestNodeAttributes(t *testing.T) {
	x := New()
	observe(x, version("a", 1, node, named("node-1")), version("b", 2, node, named("node-1")), version("node-1", 3),
		version("c", 4, node, named("node-2")), version("s", 5, ofKind(&kind.Secret), named("node-1")))
	if !x.SetNode("node-1", &observation.Node{Zone: "z"}) || x.SetNode("node-1", &observation.Node{Zone: "z"}) ||
		!x.SetNode("node-1", &observation.Node{Zone: "y"}) {
		t.Error("SetNode does not report new attributes alone")
	}
	for _, step := range []struct {
		uid  types.UID
		gone bool
	}{{"node-1", false}, {"a", false}, {"b", true}, {"c", false}} {
		if gone, _ := x.Remove(x.objects[step.uid]); gone != step.gone {
			t.Errorf("without %s the attributes are gone %t, want %t", step.uid, gone, step.gone)
		}
	}
	if x.View().NodeAttributes("node-1") != nil {
		t.Error("the attributes are left")
	}
}

// TestBySubject: names are reused, so there may be several objects of a name.
func TestBySubject(t *testing.T) {
	x := New()
	observe(x, version("a", 1, named("x")), version("b", 2, named("x")), version("c", 3, named("x"), in("other")),
		version("d", 4, named("x"), ofKind(&kind.Secret)))
	v := x.View()
	id := SubjectOf(v.Object("a"))
	if diff := cmp.Diff([]string{"a", "b"}, uids(v.BySubject(id))); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	observe(x, version("e", 5, named("x")))
	x.Remove(x.objects["a"])
	if diff := cmp.Diff([]string{"b", "e"}, uids(v.BySubject(id))); diff != "" {
		t.Errorf("by name, after changes (-want +got):\n%s", diff)
	}
}

// TestIdentify: a request means an object by its UID, a refused creation by the owner, or else an object by its name.
func TestIdentify(t *testing.T) {
	ref := object.Ref{Kind: kind.Deployment.Kind, Namespace: "default", Name: "web"}
	byUID := ref
	byUID.UID = "uid"
	for name, tc := range map[string]struct {
		w    observation.Write
		want Subject
	}{
		"UID":   {observation.Write{Ref: byUID, Controller: "owner"}, Subject{UID: "uid"}},
		"Owner": {observation.Write{Ref: ref, Controller: "owner"}, Subject{Owner: "owner"}},
		"Name": {
			observation.Write{Ref: ref},
			Subject{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Identify(&tc.w)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEvictedFrom: a refused eviction is on the Node of its Pod.
func TestEvictedFrom(t *testing.T) {
	x := New()
	observe(x, version("a", 1, ofKind(&kind.Pod), named("bound"), on("node-1")),
		version("b", 2, ofKind(&kind.Pod), on("")), version("c", 3),
		version("e", 4, ofKind(&kind.Pod), named("twice"), on("")),
		version("f", 5, ofKind(&kind.Pod), named("twice"), on("node-2")))
	x.Timeline(object.Ref{Kind: kind.Pod.Kind, UID: "d"})
	eviction := &observation.Write{Subresource: "eviction"}
	for name, tc := range map[string]struct {
		id   Subject
		w    *observation.Write
		want string
	}{
		"By UID":         {Subject{UID: "a"}, eviction, "node-1"},
		"By name":        {Subject{Kind: "Pod", Namespace: "default", Name: "bound"}, eviction, "node-1"},
		"Not bound":      {Subject{UID: "b"}, eviction, ""},
		"Unknown":        {Subject{UID: "z"}, eviction, ""},
		"Of an owner":    {Subject{UID: "a", Owner: "a"}, eviction, ""},
		"No Pod":         {Subject{UID: "c"}, eviction, ""},
		"Not observed":   {Subject{UID: "d"}, eviction, ""},
		"Bound later":    {Subject{Kind: "Pod", Namespace: "default", Name: "twice"}, eviction, "node-2"},
		"Another write":  {Subject{UID: "a"}, &observation.Write{Subresource: "status"}, ""},
		"No subresource": {Subject{UID: "a"}, &observation.Write{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := x.View().EvictedFrom(tc.id, tc.w); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPodName: a Pod has its observed name, or else one from elsewhere.
func TestPodName(t *testing.T) {
	x := New()
	observe(x, version("a", 1, ofKind(&kind.Pod), named("web")))
	x.Timeline(object.Ref{Kind: kind.Pod.Kind, UID: "d"}) // an Event gave no name
	x.NamePods(map[types.UID]string{"a": "wrong", "b": "other", "d": "late"})
	for uid, want := range map[types.UID]string{"a": "web", "b": "other", "c": "", "d": "late"} {
		if got := x.View().PodName(uid); got != want {
			t.Errorf("the name of %s is %q, want %q", uid, got, want)
		}
	}
}

// TestLacksNode: a Node is missing if others are known, or if it was searched for.
func TestLacksNode(t *testing.T) {
	x := New()
	lacks := func() bool { return x.View().LacksNode("node-1") }
	if lacks() {
		t.Error("no Node is known, and node-1 is missing")
	}
	observe(x, version("b", 1, node, named("node-2")))
	if !lacks() {
		t.Error("node-2 is known, and node-1 is not missing")
	}
	x.LackNodes(map[string]bool{"node-3": true})
	if lacks() {
		t.Error("node-1 was not searched for, and is missing")
	}
	x.LackNodes(map[string]bool{"node-1": true})
	if !lacks() {
		t.Error("node-1 was searched for, and is not missing")
	}
}

// TestHasScheduler: a scheduler is known after its first decision.
func TestHasScheduler(t *testing.T) {
	x := New()
	pod := func(uid, scheduler string, decided bool) *observation.Observation {
		return version(uid, 1, named(uid), func(s *observation.State) {
			s.Pod = &observation.Pod{Scheduler: scheduler}
			if decided {
				s.Conditions = []observation.Condition{{Type: "PodScheduled", Status: "False"}}
			}
		})
	}
	observe(x, pod("a", "", true), pod("b", "other", false))
	if v := x.View(); !v.HasScheduler(object.DefaultScheduler) || v.HasScheduler("other") {
		t.Error("want the default scheduler, and no other one")
	}
	if got := x.TakeSchedulers(); len(got) != 1 || x.TakeSchedulers() != nil {
		t.Errorf("got %v, want the default scheduler once", got)
	}
	observe(x, pod("c", "other", true))
	if !x.View().HasScheduler("other") {
		t.Error("want the other scheduler after its decision")
	}
	few := New()
	few.LackNodes(map[string]bool{})
	if v := few.View(); !v.HasScheduler(object.DefaultScheduler) || v.HasScheduler("other") {
		t.Error("want the default scheduler for an observer of a few objects")
	}
}
