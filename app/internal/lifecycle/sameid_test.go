// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestTraceIDUsedAgain: a client writes another object with the context of a trace that was handed out and forgotten,
// between two writes below the object of that trace. The new change has a trace, although stand-ins for the
// forgotten one have the same ID.
func TestTraceIDUsedAgain(t *testing.T) {
	e := New(Options{Cluster: "test", Patience: 5 * time.Minute})
	s := newStory()
	told := 0
	look := func() (found bool) {
		for ; told < len(s.seen); told++ {
			e.Observe(s.seen[told])
		}
		for _, tr := range append(e.Traces(s.now()), e.Take(s.now())...) {
			for _, sp := range tr.Spans {
				found = found || sp.Object.Name == "conf"
			}
		}
		e.Amendments()
		return found
	}
	context := func(st *observation.State) {
		st.TraceParent = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-0000000000000001-01"
		st.TraceConvention = "default"
	}
	s.write("web", deployment(1), context)
	for range 30 {
		s.wait(time.Minute)
		look()
	}
	s.write("web-1", replicaSet("web", 1))
	data := func(st *observation.State) { st.Reconciled = false }
	s.write("conf", ofKind("", "ConfigMap"), data, by("kubectl"), context)
	s.write("web-2", replicaSet("web", 1))
	if !look() {
		t.Error("the ConfigMap is in no trace")
	}
}
