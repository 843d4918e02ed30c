// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
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
)

// scaler is the manifest of an autoscaler of Deployment web.
func scaler(st *observation.State) {
	hpa := kind.HorizontalPodAutoscaler.Kind
	ofKind(hpa.Group, hpa.Kind)(st)
	to := object.Name{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	st.Relations = []object.Relation{{Type: object.Target, To: to}}
	st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
	st.ObservedGeneration = -1
}

// decided writes the status of an autoscaler. It has scaled that many seconds after the epoch, never if
// that is 0.
func decided(scaled int, metrics string) func(*observation.State) {
	return func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "AbleToScale", Status: "True"}}
		st.Autoscaler = &observation.Autoscaler{Metrics: metrics}
		if scaled > 0 {
			st.Autoscaler.Scaled = epoch.Add(time.Duration(scaled) * time.Second)
		}
	}
}

// autoscaled changes the number of replicas as the controller of autoscalers does.
func autoscaled(n int32) func(*observation.State) {
	return func(st *observation.State) {
		set(replicas)(st)
		st.Workload.Replicas = n
		st.Managers = append(st.Managers[:1:1], observation.Manager{
			Name: change.Manager, Operation: "Update", Subresource: "scale", Fields: st.ResourceVersion,
		})
		st.Leaves[len(st.Leaves)-1].Managers = 2
	}
}

// TestAutoscaled: a scaling by an autoscaler names the autoscaler, and the metrics by which it decided.
func TestAutoscaled(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		want   []string
	}{
		"After": {"the status after the scaling has the metrics", func(s *story) {
			s.write("web", autoscaled(0))
			s.write("hpa", decided(60, "cpu 5% of 50%"))
			s.write("web", arrived)
		}, []string{"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 5% of 50%"}},
		"Later": {"a later status belongs to no scaling", func(s *story) {
			s.write("web", autoscaled(0))
			s.write("hpa", decided(60, "cpu 5% of 50%"))
			s.wait(15 * time.Second)
			s.write("hpa", decided(60, "cpu 20% of 50%"))
			s.write("web", arrived)
		}, []string{"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 5% of 50%"}},
		"Slow": {"the scaling lasts for several minutes", func(s *story) {
			s.write("web", autoscaled(0))
			s.write("hpa", decided(60, "cpu 5% of 50%"))
			s.wait(3 * time.Minute)
			s.write("hpa", decided(60, "cpu 20% of 50%"))
			s.wait(3 * time.Minute)
			s.write("web", arrived)
		}, []string{"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 5% of 50%"}},
		"Again": {"a status with the time of an earlier scaling does not count", func(s *story) {
			s.write("hpa", decided(30, "cpu 40% of 50%"))
			s.write("web", autoscaled(0))
			s.write("hpa", decided(30, "cpu 41% of 50%"))
			s.write("hpa", decided(60, "cpu 5% of 50%"))
			s.write("web", arrived)
		}, []string{"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 5% of 50%"}},
		"Before": {"without a status after the scaling, the one before counts", func(s *story) {
			s.write("web", autoscaled(0))
			s.write("web", arrived)
		}, []string{"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 40% of 50%"}},
		"Unknown": {"the metrics are unknown", func(s *story) {
			s.write("web", autoscaled(0))
			s.write("hpa", decided(60, ""))
			s.write("web", arrived)
		}, []string{"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa"}},
		"Next": {"the status after the next scaling is not that of the one before", func(s *story) {
			s.write("web", autoscaled(1))
			s.write("web", scaled(2), set(replicas), by("user-a"))
			s.wait(15 * time.Second)
			s.write("web", autoscaled(0))
			s.write("hpa", decided(60, "cpu 5% of 50%"))
			s.write("web", arrived)
		}, []string{
			"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 40% of 50%",
			"user-a",
			"horizontal-pod-autoscaler", "HorizontalPodAutoscaler hpa", "cpu 5% of 50%",
		}},
		"Person": {"a person scales", func(s *story) {
			s.write("web", scaled(0), set(replicas), by("user-a"))
			s.write("web", arrived)
		}, []string{"user-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("web", deployment(0), set(replicas), arrived)
			s.write("hpa", scaler)
			s.write("hpa", decided(0, "cpu 50% of 50%"))
			s.wait(time.Minute)
			s.write("hpa", decided(0, "cpu 40% of 50%"))
			s.wait(15 * time.Second)
			tc.tell(s)
			if diff := cmp.Diff(tc.want, scalings(observe(s.seen).Traces(s.now().Add(time.Minute)))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, scalings(looks(s))); diff != "" {
				t.Errorf("%s, with a look every second: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, scalings)
		})
	}
}

// scalings returns the author, the autoscaler and the metrics of each update of web.
func scalings(traces []*span.Trace) []string {
	var out []string
	value := func(kvs []attribute.KeyValue, k attribute.Key) {
		for _, kv := range kvs {
			if kv.Key == k {
				out = append(out, kv.Value.AsString())
			}
		}
	}
	for _, tr := range traces {
		root := tr.Root()
		if root.Object.Name != "web" || root.Start.Time.Before(epoch.Add(time.Minute)) {
			continue
		}
		value(root.Attributes, span.KeyActor)
		value(root.Attributes, span.KeyAutoscaler)
		for _, ev := range root.Events {
			if ev.Name == span.EventAutoscale {
				value(ev.Attributes, span.KeyMessage)
			}
		}
	}
	return out
}

// byPath sorts the fields by path.
func byPath(st *observation.State) {
	slices.SortFunc(st.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
}

// TestAutoscaledDuringRollout: the Pods that a scaling adds or removes belong to it, and all others to the rollout.
// Each of the two has a link to the other.
func TestAutoscaledDuringRollout(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		from   int32
		tell   func(s *story)
		want   string
	}{
		"Up": {"the added Pod is the autoscaler's", 1, func(s *story) {
			s.write("web", autoscaled(2), byPath)
			s.write("web-2", sized(2), valued(desiredReplicas, 2))
			s.write("web-2-b", pod("web-2"))
			s.write("hpa", decided(61, "cpu 90% of 50%"))
			s.started("web-2", "ab")
			s.removed("web-1", 0, "a")
		}, `
trace 0 converged
  reconcile Deployment web converged ~concurrent
    reconcile ReplicaSet web-2 converged (owner) ~concurrent
      reconcile Pod web-2-a converged (owner)
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a deleted (owner)
trace 1 converged
  reconcile Deployment web converged ~autoscaler ~concurrent
    reconcile ReplicaSet web-2 converged (owner) ~concurrent
      reconcile Pod web-2-b converged (owner)
`},
		"Down": {"the removed Pod is the autoscaler's", 2, func(s *story) {
			s.write("web", autoscaled(1), byPath)
			s.write("web-2", valued(desiredReplicas, 1))
			s.removed("web-1", 1, "b", valued(desiredReplicas, 1))
			s.write("hpa", decided(61, "cpu 90% of 50%"))
			s.started("web-2", "a")
			s.removed("web-1", 0, "a")
		}, `
trace 0 converged
  reconcile Deployment web converged ~concurrent
    reconcile ReplicaSet web-2 converged (owner)
      reconcile Pod web-2-a converged (owner)
    reconcile ReplicaSet web-1 converged (owner) ~previous
      reconcile Pod web-1-a deleted (owner)
trace 1 converged
  reconcile Deployment web converged ~autoscaler ~concurrent
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-b deleted (owner)
`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("hpa", scaler)
			s.settled(tc.from)
			s.write("hpa", decided(0, "cpu 40% of 50%"))
			s.write("web", valued(newImage, 2), by("user-a"))
			s.revised(2, 1, tc.from)
			s.write("web", func(st *observation.State) {
				st.ObservedGeneration = st.Generation
				st.Workload.Total, st.Workload.Updated = tc.from+1, 1
			})
			s.wait(time.Second)
			tc.tell(s)
			s.write("web", arrived)
			traces := observe(s.seen).Traces(s.now().Add(time.Minute))[1:] // after that of the autoscaler
			if diff := cmp.Diff(tc.want[1:], plain(traces)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			authors := []string{"Deployment web: user-a ", "Deployment web: horizontal-pod-autoscaler "}
			if diff := cmp.Diff(authors, authorsOf(traces)); diff != "" {
				t.Errorf("authors: -want +got:\n%s", diff)
			}
			if got := attributeText(traces[1].Root(), span.KeyAutoscaler); got != "HorizontalPodAutoscaler hpa" {
				t.Errorf("the autoscaler is %q", got)
			}
			links := linksOf(traces)
			for _, want := range []string{
				"Deployment web of 0: concurrent Deployment web of 1",
				"Deployment web of 1: concurrent Deployment web of 0",
			} {
				if !slices.Contains(links, want) {
					t.Errorf("no link %q among %q", want, links)
				}
			}
			inAnyOrder(t, s, outline)
		})
	}
}
