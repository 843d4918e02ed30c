// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// kept is an object in deletion with finalizers.
func kept(finalizers ...string) func(*observation.State) {
	return func(s *observation.State) { s.Deleting, s.Finalizers = epoch, finalizers }
}

// TestHolders: a deletion waits for the holder of a finalizer.
func TestHolders(t *testing.T) {
	set := func(managers uint64, names ...string) func(*observation.State) {
		return func(s *observation.State) {
			s.Leaves = []observation.Leaf{{Path: "metadata.finalizers", Value: 1, Managers: managers}}
			for _, name := range names {
				s.Managers = append(s.Managers, observation.Manager{Name: name})
			}
		}
	}
	for name, tc := range map[string]struct {
		version *history.Version
		text    string
	}{
		"Unknown": {
			version(kind.ConfigMap.Kind, kept("example.com/keep")), "waits for finalizer example.com/keep",
		},
		"Its author": {
			version(kind.ConfigMap.Kind, kept("example.com/keep"), set(2, "kubectl", "keeper")),
			"waits for finalizer example.com/keep, which keeper has set",
		},
		"Several authors": {
			version(kind.ConfigMap.Kind, kept("example.com/keep"), set(3, "kubectl", "keeper")),
			"waits for finalizer example.com/keep",
		},
		"Load balancer": {
			version(kind.Service.Kind, kept("service.kubernetes.io/load-balancer-cleanup")),
			"waits for the cloud controller, which deletes its load balancer " +
				"(finalizer service.kubernetes.io/load-balancer-cleanup)",
		},
		"Two": {
			version(kind.PersistentVolume.Kind, kept("kubernetes.io/pv-protection", "example.com/keep")),
			"waits for the deletion of its claim (finalizer kubernetes.io/pv-protection), and for finalizer " +
				"example.com/keep",
		},
		"Volume": {
			version(kind.PersistentVolume.Kind, kept("kubernetes.io/pv-protection"),
				refers(object.Claim, &kind.PersistentVolumeClaim, "data")),
			"waits for the deletion of its claim shop/data (finalizer kubernetes.io/pv-protection)",
		},
		"Dependants": {
			version(kind.ConfigMap.Kind, kept("foregroundDeletion")), "waits for the deletion of its dependants",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if r := Of(tc.version, nil); r.Text != tc.text {
				t.Errorf("got %q, want %q", r.Text, tc.text)
			}
		})
	}
}

// TestDefined: the deletion of a definition waits for the objects of its kind.
func TestDefined(t *testing.T) {
	widget := func(name string, edits ...func(*observation.State)) *observation.State {
		s := state(&kind.ConfigMap, name, edits...)
		s.Kind, s.Group = object.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}, "example.com"
		return s
	}
	deleted := state(&kind.CustomResourceDefinition, "widgets.example.com", kept("customresourcecleanup"))
	for want, instances := range map[string][]*observation.State{
		"": nil,
		"waits for the deletion of Widget shop/a (and 1 more)": {widget("a"), widget("b")},
		"waits for the deletion of Widget shop/b (and 1 more), which waits for finalizer example.com/keep": {
			widget("a"), widget("b", kept("example.com/keep")),
		},
		"waits for the deletion of Widget shop/a, which waits for finalizer example.com/keep": {
			widget("a", kept("example.com/keep")),
		},
	} {
		r := Defined(deleted, instances)
		if r.Text != want {
			t.Errorf("got %q, want %q", r.Text, want)
		}
		if next := "describe widget.example.com/"; want != "" && !strings.Contains(r.Next(deleted.Ref), next) {
			t.Errorf("next: got %q, want %q in it", r.Next(deleted.Ref), next)
		}
	}
	if r := Defined(state(&kind.CustomResourceDefinition, "x"), []*observation.State{widget("a")}); r.Text != "" {
		t.Errorf("got %q for a definition that stays", r.Text)
	}
}

// TestContent: a Namespace waits for an API, or for its content.
func TestContent(t *testing.T) {
	const discovery = "NamespaceDeletionDiscoveryFailure"
	const list = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
	const stale = list + "a.example.com/v1: stale GroupVersion discovery: a.example.com/v1"
	left := condition("NamespaceContentRemaining", "True", "SomeResourcesRemain",
		"Some resources are remaining: secrets. has 1 resource instances")
	none := condition("NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed")
	for name, tc := range map[string]struct {
		conditions []func(*observation.State)
		want       Category
		text       string
		next       string
	}{
		"An API": {
			[]func(*observation.State){condition(discovery, "True", "DiscoveryFailed", stale), none},
			APIServiceUnavailable,
			"waits for API a.example.com/v1, which does not answer; its other content is already deleted",
			"kubectl get apiservice",
		},
		"Our own API": {
			[]func(*observation.State){condition(discovery, "True", "DiscoveryFailed",
				list+"lifeline.dev/v1alpha1: stale GroupVersion discovery: lifeline.dev/v1alpha1"), none},
			APIServiceUnavailable,
			"waits for API lifeline.dev/v1alpha1 of Lifeline, which no Pod of lifeline discovery answers; its other " +
				"content is already deleted",
			"kubectl get pod -A -l app.kubernetes.io/name=lifeline-discovery",
		},
		"Two APIs": {
			[]func(*observation.State){condition(discovery, "True", "DiscoveryFailed",
				stale+", b.example.com/v1beta2: the server is currently unable to handle the request"), none},
			APIServiceUnavailable,
			"waits for APIs a.example.com/v1, b.example.com/v1beta2, which do not answer; its other content is " +
				"already deleted",
			"kubectl get apiservice",
		},
		"An API and content": {
			[]func(*observation.State){condition(discovery, "True", "DiscoveryFailed", stale), left},
			APIServiceUnavailable,
			"waits for API a.example.com/v1, which does not answer; it also waits for the deletion of its content: " +
				"Some resources are remaining: secrets. has 1 resource instances", "kubectl get apiservice",
		},
		"An unknown message": {
			[]func(*observation.State){condition(discovery, "True", "DiscoveryFailed", "x"), none},
			APIServiceUnavailable,
			"waits for an API that does not answer: x; its other content is already deleted", "kubectl get apiservice",
		},
		"Content": {
			[]func(*observation.State){condition(discovery, "False", "", ""), left}, NamespaceContent,
			"waits for the deletion of its content: Some resources are remaining: secrets. has 1 resource instances",
			"kubectl describe namespace/shop",
		},
		"New": {nil, "", "is terminating", "kubectl describe namespace/shop"},
	} {
		t.Run(name, func(t *testing.T) {
			v := version(kind.Namespace.Kind, append(tc.conditions, kept(), func(s *observation.State) {
				s.Namespace, s.Name = "", "shop"
			})...)
			r := Of(v, nil)
			if r.Category != tc.want || r.Text != tc.text {
				t.Errorf("got %q: %q, want %q: %q", r.Category, r.Text, tc.want, tc.text)
			}
			if got := r.Next(*v.Ref); got != tc.next {
				t.Errorf("next: got %q, want %q", got, tc.next)
			}
		})
	}
}

// TestUsed: a claim in deletion waits for the Pods that use it.
func TestUsed(t *testing.T) {
	named := func(name string) *history.Version {
		return version(kind.Pod.Kind, func(s *observation.State) { s.Name = name })
	}
	claim := version(kind.PersistentVolumeClaim.Kind, kept("kubernetes.io/pvc-protection"))
	own := Of(claim, nil)
	for want, pods := range map[string][]*history.Version{
		"waits for the end of the Pods that use it (finalizer kubernetes.io/pvc-protection)": nil,
		"waits for the end of Pod a, which uses it":                                          {named("a")},
		"waits for the end of Pod a and 2 more, which use it": {
			named("a"), named("b"), named("c"),
		},
	} {
		r := Used(own, claim, pods)
		next := "kubectl -n shop describe pod/a"
		if pods == nil {
			next = "kubectl -n shop get persistentvolumeclaim/web -o yaml"
		}
		if r.Text != want || r.Next(*claim.Ref) != next {
			t.Errorf("got %q and %q, want %q and %q", r.Text, r.Next(*claim.Ref), want, next)
		}
	}
}

// TestKept: an object in a foreground deletion waits for a dependant, which has its own reason.
func TestKept(t *testing.T) {
	owned := func(name string, finalizers ...string) Owned {
		v := version(kind.ConfigMap.Kind, kept(finalizers...), func(s *observation.State) { s.Name = name })
		return Owned{Version: v, Reason: Of(v, nil)}
	}
	own := Of(version(kind.ConfigMap.Kind, kept(foreground)), nil)
	r := Kept(own, []Owned{owned("a"), owned("b", "example.com/keep")})
	const want = "waits for the deletion of ConfigMap b, which waits for finalizer example.com/keep"
	if r.Text != want || r.Cause != Finalizer || r.Next(object.Ref{}) != "kubectl -n shop describe configmap/b" {
		t.Errorf("got %q by %q, next %q, want %q", r.Text, r.Cause, r.Next(object.Ref{}), want)
	}
	if r = Kept(own, []Owned{owned("a")}); r.Text != own.Text {
		t.Errorf("got %q, want %q", r.Text, own.Text)
	}
}
