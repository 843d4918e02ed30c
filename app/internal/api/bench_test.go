// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// BenchmarkAPI requests data of an archive with 10,000 traces over loopback.
func BenchmarkAPI(b *testing.B) {
	st := viewtest.New(b)
	many := spantest.Many(1666) // 10,000 spans
	st.Put(b, asOf, viewtest.Traces{Finished: []*span.Trace{many}})
	for n := 0; n < 10_000; n += 500 {
		var w viewtest.Traces
		for i := n; i < n+500; i++ {
			c := spantest.New(fmt.Sprint("change", i))
			c.Pod(c.ReplicaSet(c.Deployment(nil, i, i+2000), i+10, i+1900), "web", i+20, i+1800)
			w.Finished = append(w.Finished, c.Trace)
		}
		st.Put(b, asOf, w)
	}
	s := start(b, Options{Access: st.Access, Clock: func() time.Time { return asOf }})
	go func() {
		for range s.counts.codes {
			continue // no count needed
		}
	}()
	b.Cleanup(func() { close(s.counts.codes) })
	for _, q := range []struct{ name, path string }{
		{"List100", "/api/v1/traces"},
		{"ListAll", "/api/v1/traces?limit=10000"},
		{"ListNone", "/api/v1/traces?name=nobody"},
		{"Trace", "/api/v1/traces/" + span.DeriveTraceID("change5000").String()}, {
			"TracePrefix",
			"/api/v1/traces/" + span.DeriveTraceID("change5000").String()[:9],
		},
		{"Trace10000Spans", "/api/v1/traces/" + many.ID.String()},
		{"Tree10000Spans", "/api/v1/traces/" + many.ID.String() + "/tree"}, {"Info", "/api/v1/info"},
	} {
		b.Run(q.name, func(b *testing.B) {
			for range b.N {
				res, body := s.get(b, q.path)
				if res.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), "{") {
					b.Fatalf("status %d: %s", res.StatusCode, body)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}
