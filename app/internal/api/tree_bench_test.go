// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// joined returns a rollout of 50 Pods with that many spans of other components below them.
func joined(others int) *span.Trace {
	b := spantest.New("joined")
	rs := b.ReplicaSet(b.Deployment(nil, 0, 60_000), 60, 59_000)
	resource := &span.Resource{Attributes: []attribute.KeyValue{attribute.String("service.name", "kubelet")}}
	const pods = 50
	for i := range pods {
		up := b.Pod(rs, fmt.Sprintf("web-6cf-%03d", i), 100+20*i, 50_000+100*i)
		for k := range others / pods {
			s := b.Add(
				up, "runtime.v1.RuntimeService/ContainerStatus", "kubelet", object.Ref{}, 200+20*i+k*9, 204+20*i+k*9,
				attribute.String("rpc.system", "grpc"), attribute.Int("rpc.grpc.status_code", 0),
			)
			s.Evidence, s.Start.Source, s.End.Source = span.ByIdentity, "", ""
			s.Origin = &span.Origin{
				TraceID: span.DeriveTraceID("kubelet"), Kind: trace.SpanKindClient, Resource: resource,
			}
		}
	}
	return b.Trace
}

// BenchmarkTreeOfOthers requests the tree of an archived trace with 250,000 spans of other components.
func BenchmarkTreeOfOthers(b *testing.B) {
	st, t := viewtest.New(b), joined(250_000)
	st.Put(b, asOf, viewtest.Traces{Finished: []*span.Trace{t}})
	s := start(b, Options{Access: st.Access, Clock: func() time.Time { return asOf }})
	go func() {
		for range s.counts.codes {
			continue // no count needed
		}
	}()
	b.Cleanup(func() { close(s.counts.codes) })
	b.ReportAllocs()
	for b.Loop() {
		if res, body := s.get(b, "/api/v1/traces/"+t.ID.String()+"/tree"); res.StatusCode != http.StatusOK {
			b.Fatalf("status %d: %.200s", res.StatusCode, body)
		}
	}
}
