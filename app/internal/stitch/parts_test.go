// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// zero is the start of all spans of the tests of parts.
var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return zero.Add(time.Duration(n) * time.Second) }

// received is a foreign span of the first two seconds. Parent 0 means none.
func received(in, id, parent byte, name string, attrs ...attribute.KeyValue) *span.Span {
	s := &span.Span{
		TraceID: trace.TraceID{1, 15: in}, ID: trace.SpanID{1, 7: id}, Name: name, Attributes: attrs,
		Start: span.Time{Time: zero}, End: span.Time{Time: second(2)},
		Origin: &span.Origin{Kind: trace.SpanKindServer},
	}
	if parent != 0 {
		s.Parent = trace.SpanID{1, 7: parent}
	}
	return s
}

// ours is a trace of ours with a reconciliation of a Pod and a write with an audit-id.
func ours(name string) *span.Trace {
	t := &span.Trace{ID: span.DeriveTraceID(name)}
	ref := object.Ref{
		Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "default", Name: name, UID: types.UID("uid-" + name),
	}
	add := func(id byte, name string, attrs ...attribute.KeyValue) *span.Span {
		s := &span.Span{
			TraceID: t.ID, ID: trace.SpanID{2, 7: id}, Name: name, Object: ref, Attributes: attrs,
			Start: span.Time{Time: zero}, End: span.Time{Time: second(4)},
		}
		t.Spans = append(t.Spans, s)
		return s
	}
	add(1, span.ReconcileName("Pod"))
	add(2, "create Pod", span.KeyAuditID.String("audit-"+name)).Parent = trace.SpanID{2, 7: 1}
	return t
}
