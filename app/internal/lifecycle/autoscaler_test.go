// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
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
