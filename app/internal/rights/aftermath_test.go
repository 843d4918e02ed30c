// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestAftermath: a user sees the aftermath of the Pods that the user sees, and no other.
func TestAftermath(t *testing.T) {
	b := spantest.New("aftermath")
	run := b.Run("kubectl apply -f all.yaml", 0, 900)
	for i, namespace := range []string{"shop", "bank"} {
		ref := in(namespace, spantest.Ref("apps", "Deployment", "web"))
		web := b.Add(run, "reconcile Deployment", "controller", ref, 0, 800)
		pod := b.Add(web, "reconcile Pod", "kubelet", in(namespace, spantest.Ref("", "Pod", "web-1")), 10, 700)
		a := span.Aftermath{
			Converged: run.End.Time, Window: time.Hour, Latest: run.End.Add(time.Minute),
			Incidents: span.Incidents{Restarts: i + 1},
		}
		at := span.Time{Time: a.Latest}
		b.Trace.Spans = append(b.Trace.Spans, &span.Span{
			TraceID: b.Trace.ID, ID: trace.SpanID{7: byte(i + 1)}, Parent: run.ID, Name: span.NameAftermath,
			Object: pod.Object, Start: at, End: at, Message: a.Text(), Attributes: a.Attributes(i, 1),
		})
	}
	b.Trace.Outcome = span.Converged
	for who, tc := range map[string]struct {
		sees func(object.Ref) bool
		want int
	}{
		"all":           {func(object.Ref) bool { return true }, 3},
		"shop":          {func(o object.Ref) bool { return o.Namespace == "shop" }, 1},
		"bank":          {func(o object.Ref) bool { return o.Namespace == "bank" }, 2},
		"no Pods":       {func(o object.Ref) bool { return !kind.Pod.Is(o.Kind) }, 0},
		"another place": {func(o object.Ref) bool { return o.Namespace == "lab" }, 0},
	} {
		got := 0
		if visible := Project(b.Trace, Sees{Object: tc.sees}); visible != nil {
			if after := span.AftermathOf(visible); after != nil {
				got = after.Restarts
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: restarts -want +got:\n%s", who, diff)
		}
	}
}
