// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cputime"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
)

// BenchmarkPods has 1,000 Pods come up: from the bytes of the watches to the trace. Figures are per
// Pod.
func BenchmarkPods(b *testing.B) {
	const pods = 1000
	proto := record(b, pods)
	text := &recorded{
		json: proto.json, changes: proto.changes, watched: make(chan string, 1000),
		onlyJSON: []string{"deployments", "replicasets", "pods", "events"},
	}
	for name, r := range map[string]*recorded{"protobuf": proto, "json": text} {
		b.Run(name, func(b *testing.B) {
			count, size := mallocs()
			before := cputime.Used(b)
			for b.Loop() {
				r.trace(b)
				for len(r.watched) > 0 {
					<-r.watched
				}
			}
			after, bytes := mallocs()
			all := float64(b.N) * pods
			b.ReportMetric(float64((cputime.Used(b)-before).Microseconds())/all, "cpu-µs/pod")
			b.ReportMetric(float64(after-count)/all, "allocs/pod")
			b.ReportMetric(float64(bytes-size)/all, "B/pod")
		})
	}
}

// trace returns the number of spans of the recorded change.
func (r *recorded) trace(tb testing.TB) (spans int) {
	tb.Helper()
	engine := lifecycle.New(lifecycle.Options{Cluster: "recorded"})
	r.replay(tb, Config{}, engine.Observe)
	for _, t := range engine.Traces(time.Now()) {
		spans += len(t.Spans)
	}
	return spans
}

// TestCost bounds the allocations for each Pod that comes up.
func TestCost(t *testing.T) {
	most := 1850
	if raced { // pools lose buffers
		most = 2200
	}
	pods := 200
	if testing.Short() {
		pods = 50
	}
	r := record(t, pods)
	r.trace(t) // fills the tables of kinds
	count, _ := mallocs()
	if spans := r.trace(t); spans < pods {
		t.Errorf("the trace has %d spans", spans)
	}
	after, _ := mallocs()
	if each := int(after-count) / pods; each > most {
		t.Errorf("%d allocations a Pod, want at most %d", each, most)
	} else {
		t.Logf("%d allocations a Pod", each)
	}
}
