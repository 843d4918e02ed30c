// SPDX-License-Identifier: Apache-2.0

package span_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestPackTrace: a trace returns unchanged, with spans of ours and of other components, open ones,
// and times at the limits.
func TestPackTrace(t *testing.T) {
	one := spantest.Rollout()
	one.Reason = "invalid \xff text"
	id := one.ID
	at := spantest.Epoch
	one.Spans = append(one.Spans,
		&span.Span{TraceID: id, ID: trace.SpanID{1}, DroppedEvents: 7, RemoteParent: true, Parent: trace.SpanID{8}},
		&span.Span{TraceID: id, ID: trace.SpanID{2}, Start: span.Time{Time: at, Source: span.TimeAudit}},
		&span.Span{
			TraceID: id, ID: trace.SpanID{3}, Start: span.Time{Time: at.Add(-time.Hour)}, End: span.Time{Time: at},
			Evidence: span.ByIdentity, Events: []span.Event{{Name: "no time"}, {Name: "at", Time: at}},
			Origin: &span.Origin{
				TraceID: trace.TraceID{7}, Parent: trace.SpanID{6}, Kind: trace.SpanKindServer, TraceState: "a=b",
				Scope:    span.Scope{Name: "scope", Version: "1"},
				Resource: &span.Resource{Attributes: []attribute.KeyValue{attribute.String("service.name", "etcd")}},
			},
		},
		&span.Span{
			TraceID: id,
			ID:      trace.SpanID{4},
			Start: span.Time{
				Time: time.Unix(0, math.MinInt64).UTC(),
			},
			End: span.Time{Time: time.Unix(0, math.MaxInt64).UTC()},
		},
	)
	got, err := span.UnpackTrace(span.PackTrace(one))
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() })
	if diff := cmp.Diff(one, got, same); diff != "" {
		t.Error(diff)
	}

	one.Spans = one.Spans[:1]
	one.Spans[0].Start.Time = time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)
	one.Spans[0].End.Time = time.Date(9999, 2, 3, 0, 0, 0, 0, time.UTC)
	if got, err = span.UnpackTrace(span.PackTrace(one)); err != nil {
		t.Fatal(err)
	}
	if first := got.Spans[0]; first.Start.UnixNano() != math.MinInt64 || first.End.UnixNano() != math.MaxInt64 {
		t.Errorf("times outside the limits became %s and %s", first.Start, first.End)
	}
}

func FuzzUnpackTrace(f *testing.F) {
	f.Add(span.PackTrace(spantest.Rollout()))
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := span.UnpackTrace(data)
		if err != nil {
			return
		}
		if _, err := span.UnpackTrace(span.PackTrace(first)); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}

// TestPackTraceOnlyReads: a trace is packed while others read it.
func TestPackTraceOnlyReads(t *testing.T) {
	one := spantest.Rollout()
	one.Spans = append(one.Spans, spantest.Joined().Spans...)
	one.Spans[0].Attributes = append(one.Spans[0].Attributes, attribute.Float64("f", 1.5), attribute.Bool("b", true))
	var packing sync.WaitGroup
	for range 2 {
		packing.Go(func() { span.PackTrace(one) })
	}
	packing.Wait()
}
