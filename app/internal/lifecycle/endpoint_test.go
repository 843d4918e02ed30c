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
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func service(s *observation.State) {
	ofKind("", "Service")(s)
	s.Generation, s.ObservedGeneration, s.Progress = 0, -1, observation.ProgressCurrent
	s.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
}

// slice is an EndpointSlice of the Service by its controller, with these Pods as ready endpoints.
func slice(of string, pods ...string) func(*observation.State) {
	return func(s *observation.State) {
		ofKind("discovery.k8s.io", "EndpointSlice")(s)
		s.Reconciled, s.ObservedGeneration, s.Progress = false, -1, observation.ProgressCurrent
		s.Owners = []object.Owner{{
			Kind: kind.Service.Kind, Name: of, UID: types.UID("uid-" + of), Controller: true,
		}}
		s.Managers = []observation.Manager{{Name: change.Manager, Operation: "Update", Fields: 1}}
		s.Leaves = []observation.Leaf{{Path: "endpoints", Value: s.ResourceVersion, Managers: 1}}
		var keys []string
		for _, p := range pods {
			key := observation.KeyOfEndpoint(s.Namespace, types.UID("uid-"+p))
			keys = append(keys, string(key.AppendText(nil)))
		}
		slices.Sort(keys)
		s.Endpoints = &observation.Endpoints{Service: of, Ready: strings.Join(keys, "")}
	}
}

// publications returns the phases `publish endpoint` of traces, sorted: Pod, Service, start and end since
// the epoch.
func publications(traces []*span.Trace) []string {
	var out []string
	for _, tr := range traces {
		for _, s := range tr.Spans {
			if s.Name != span.NamePublish {
				continue
			}
			text := fmt.Sprintf("%s by %s: %v to %v", s.Object.Name, textOf(s, span.KeyService),
				s.Start.Sub(epoch), s.End.Sub(epoch))
			if textOf(s, span.KeyLate) != "" {
				text += " (late)"
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

func textOf(s *span.Span, key attribute.Key) string {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

// TestPublication: a Pod has one phase for each Service that publishes it after it is ready.
func TestPublication(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(*story)
		want   []string
	}{
		"published": {"from Ready to the first slice with the Pod", func(s *story) {
			s.write("svc", service)
			s.write("svc-a", slice("svc"))
			s.rollout()
			s.write("svc-a", slice("svc", "web-1-a"))
			s.write("svc-a", slice("svc", "web-1-a", "other"))
		}, []string{"web-1-a by svc: 700ms to 1s"}},
		"never": {"the Pod is in no slice", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.rollout()
			s.write("svc-a", slice("svc", "other"))
		}, nil},
		"before ready": {"the Service publishes Pods that are not ready", func(s *story) {
			s.write("web-1-a", pod(""))
			s.write("svc-a", slice("svc", "web-1-a"))
			s.write("web-1-a", bind)
			s.write("web-1-a", ready)
			s.write("svc-a", slice("svc", "web-1-a", "other"))
		}, nil},
		"two Services": {"each has a phase", func(s *story) {
			s.rollout()
			s.write("b-1", slice("b", "web-1-a"))
			s.write("a-1", slice("a", "web-1-a"))
		}, []string{"web-1-a by a: 500ms to 900ms", "web-1-a by b: 500ms to 800ms"}},
		"many Services": {"the number is bounded", func(s *story) {
			s.rollout()
			for i := range 7 {
				s.write(fmt.Sprintf("s%d-x", 6-i), slice(fmt.Sprintf("s%d", 6-i), "web-1-a"))
			}
		}, []string{
			"web-1-a by s0: 500ms to 1.4s", "web-1-a by s1: 500ms to 1.3s", "web-1-a by s2: 500ms to 1.2s",
			"web-1-a by s3: 500ms to 1.1s",
		}},
		"a new Service": {"the wait begins with the Service", func(s *story) {
			s.rollout()
			s.wait(3 * time.Second)
			s.write("svc", service)
			s.write("svc-a", slice("svc", "web-1-a"))
		}, []string{"web-1-a by svc: 3s to 3.9s"}},
		"another namespace": {"a slice refers to Pods of its namespace", func(s *story) {
			s.rollout()
			s.write("svc-a", func(st *observation.State) { st.Namespace = "other" }, slice("svc", "web-1-a"))
		}, nil},
		"found": {"the Pod was published before the start", func(s *story) {
			s.write("svc-a", slice("svc", "web-1-a"))
			s.before()
			s.rollout()
			s.write("svc-a", slice("svc", "web-1-a", "other"))
		}, nil},
		"moved": {"another slice takes the endpoint over", func(s *story) {
			s.rollout()
			s.write("svc-a", slice("svc", "web-1-a"))
			s.write("svc-b", slice("svc", "web-1-a"))
			s.write("svc-a", slice("svc"))
		}, []string{"web-1-a by svc: 500ms to 800ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			end := s.now().Add(time.Minute)
			if diff := cmp.Diff(tc.want, publications(observe(s.seen).Traces(end))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, publications)
		})
	}
}

// TestLatePublication: a publication after the handout of the Pod's trace is a late span of that
// trace, for a minute, also after a restart.
func TestLatePublication(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("Restart=%v", restart), func(t *testing.T) {
			s, e, told := newStory(), New(Options{Cluster: "test"}), 0
			look := func(wait time.Duration) []string {
				for ; told < len(s.seen); told++ {
					e.Observe(s.seen[told])
				}
				s.wait(wait)
				if restart {
					e = restored(t, e)
				}
				traces := slices.Concat(e.Take(s.now()), e.Amendments())
				if restart {
					e = restored(t, e)
				}
				return publications(traces)
			}
			s.write("svc-a", slice("svc"))
			s.rollout()
			if got := look(5 * time.Second); got != nil {
				t.Errorf("published before it was: %v", got)
			}
			s.write("svc-a", slice("svc", "web-1-a"))
			want := []string{"web-1-a by svc: 600ms to 5.9s (late)"}
			if diff := cmp.Diff(want, look(time.Second)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			s.write("svc-a", slice("svc"))
			s.write("svc-a", slice("svc", "web-1-a"))
			if got := look(time.Second); got != nil {
				t.Errorf("a Pod that is ready again is told again: %v", got)
			}
			s.wait(time.Minute)
			s.write("late-a", slice("late", "web-1-a"))
			if got := look(5 * time.Minute); got != nil {
				t.Errorf("a Service of much later is told: %v", got)
			}
			look(5 * time.Minute)
			if n := len(e.endpoints.byKey) + len(e.endpoints.pods); n > 0 {
				t.Errorf("%d endpoints are kept", n)
			}
		})
	}
}

// TestSlices: the updates of the endpointslice controller are steps in no group, and are forgotten at
// once.
func TestSlices(t *testing.T) {
	s := newStory()
	s.write("svc", service)
	s.write("svc-a", slice("svc"))
	s.before()
	e := observe(s.seen)
	from := len(s.seen)
	for i := range 100 {
		s.write("svc-a", slice("svc", fmt.Sprint("pod-", i)))
	}
	for _, o := range s.seen[from:] {
		e.Observe(o)
	}
	if n := len(e.groups.all); n > 0 {
		t.Errorf("%d groups, want none", n)
	}
	if n := len(e.index.Objects()["uid-svc-a"].Versions); n != 1 {
		t.Errorf("%d versions are kept, want 1", n)
	}
	if got := outline(e.Take(s.now().Add(time.Hour))); got != "" {
		t.Errorf("the updates have traces:\n%s", got)
	}
	s.audited("svc-a", "update", func(w *observation.Write) {
		w.User, w.UserAgent = "system:serviceaccount:kube-system:endpointslice-controller", "kube-controller-manager/v1"
	})
	e.Observe(s.seen[len(s.seen)-1])
	if got := e.AuditStats(); got != (AuditStats{Joined: 1}) || len(e.groups.all) > 0 {
		t.Errorf("the request of an update: %+v", got)
	}
	want := WriteStats{Observed: 102, Baseline: 2, Step: 100}
	if diff := cmp.Diff(want, e.WriteStats()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSliceCauses: which change an EndpointSlice belongs to.
func TestSliceCauses(t *testing.T) {
	labelled := func(manager string) func(*observation.State) {
		return func(st *observation.State) {
			st.Managers = append(slices.Clip(st.Managers), observation.Manager{
				Name: manager, Operation: "Update", Fields: st.ResourceVersion,
			})
			st.Leaves = append(slices.Clip(st.Leaves), observation.Leaf{
				Path: "metadata.labels.tier", Value: st.ResourceVersion, Managers: 1 << (len(st.Managers) - 1),
			})
		}
	}
	for name, tc := range map[string]struct {
		reason string
		tell   func(*story)
		want   string
	}{
		"first": {"the first slice belongs to the Service, after any delay", func(s *story) {
			s.write("svc", service)
			s.wait(time.Minute)
			s.write("svc-a", slice("svc"))
			s.write("svc-a", slice("svc", "a"))
		}, "trace 0 converged\n  reconcile Service svc converged\n" +
			"    reconcile EndpointSlice svc-a converged (owner)\n"},
		"families": {"a Service with two families of addresses has two", func(s *story) {
			s.write("svc", service)
			s.write("svc-4", slice("svc"))
			s.write("svc-6", slice("svc"))
		}, "trace 0 converged\n  reconcile Service svc converged\n" +
			"    reconcile EndpointSlice svc-4 converged (owner)\n" +
			"    reconcile EndpointSlice svc-6 converged (time)\n"},
		"more Pods": {"Pods caused a further slice", func(s *story) {
			s.write("svc", service)
			s.write("svc-a", slice("svc"))
			s.before()
			s.wait(time.Minute)
			s.write("svc-b", slice("svc", "a"))
			s.write("svc-a", slice("svc", "b"))
		}, ""},
		"fewer Pods": {"the controller merges slices", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.write("svc-b", slice("svc"))
			s.before()
			s.gone("svc-b")
		}, ""},
		"the last": {"the controller never removes the last slice", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.before()
			s.gone("svc-a")
			s.write("svc-b", slice("svc"))
		}, "trace 0 deleted\n  reconcile EndpointSlice svc-a deleted\n" +
			"trace 1 converged\n  reconcile EndpointSlice svc-b converged ~heals\n"},
		"a person removes one": {"the audit log names a person", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.write("svc-b", slice("svc"))
			s.before()
			s.gone("svc-b")
			s.audited("svc-b", "delete", func(w *observation.Write) { w.Removes, w.ResourceVersion = true, 0 })
		}, "trace 0 deleted\n  reconcile EndpointSlice svc-b deleted\n    delete EndpointSlice svc-b (request)\n"},
		"a person edits one": {"the audit log names a person", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.before()
			s.write("svc-a", labelled("kubectl-edit"))
			s.audited("svc-a", "patch")
			s.write("svc-a", slice("svc", "a"))
		}, "trace 0 converged\n  reconcile EndpointSlice svc-a converged\n" +
			"    update EndpointSlice svc-a (request)\n"},
		"no Pods": {"the last endpoint goes with its ports, and leaves no author", func(s *story) {
			s.write("svc-a", slice("svc", "a"), func(st *observation.State) {
				st.Leaves = append(st.Leaves, observation.Leaf{Path: "ports.http", Value: 1, Managers: 1})
			})
			s.before()
			s.write("svc-a", slice("svc"), func(st *observation.State) {
				st.Leaves, st.Managers = nil, nil
			})
		}, ""},
		"the Service goes": {"its slices go with it", func(s *story) {
			s.write("svc", service)
			s.write("svc-a", slice("svc"))
			s.before()
			s.gone("svc")
			s.gone("svc-a")
		}, "trace 0 deleted\n  reconcile Service svc deleted\n    reconcile EndpointSlice svc-a deleted (owner)\n"},
		"a person": {"a label by a person is a change", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.before()
			s.write("svc-a", labelled("kubectl-label"))
		}, "trace 0 converged\n  reconcile EndpointSlice svc-a converged\n"},
		"a label of the Service": {"the controller copies it", func(s *story) {
			s.write("svc-a", slice("svc"))
			s.before()
			s.write("svc-a", labelled(change.Manager))
		}, ""},
		"handmade": {"a slice without a Service as its owner", func(s *story) {
			own := func(st *observation.State) {
				st.Owners = nil
				st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
			}
			s.write("mine", slice("svc"), own)
			s.write("mine", slice("svc", "a"), own)
		}, "trace 0 converged\n  reconcile EndpointSlice mine converged\n" +
			"trace 1 converged\n  reconcile EndpointSlice mine converged\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			if diff := cmp.Diff(tc.want, s.outline(t)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
