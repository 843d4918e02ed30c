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
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/object"
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
	one.Spans[0].Facts, one.Spans[1].Facts = &span.Facts{}, facts()
	one.Spans[2].Facts = &span.Facts{Reason: "paused", Pod: &span.PodFacts{Volumes: -1}}
	got, err := span.UnpackTrace(span.PackTrace(one))
	if err != nil {
		t.Fatal(err)
	}
	one.Reason = "invalid \uFFFD text"
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

// facts returns facts with all fields.
func facts() *span.Facts {
	return &span.Facts{
		Verb: "create", Reason: "crash_loop", Workload: "Deployment/web",
		Pod: &span.PodFacts{
			Volumes: 3, Node: "node-1", Zone: "zone-a", Images: []string{"nginx:1", "envoy:1"},
			Restarts: 4, Ended: true, ExitCode: 137,
		},
		Labels: []object.Label{{Key: "app", Value: "web"}, {Key: "tier", Value: ""}},
		Writes: []span.Write{
			{
				Verb: "update", Part: "desired", ResourceVersion: 7, BasedOn: 6, Generation: 2, Actor: "kubectl",
				Start: spantest.Epoch, End: spantest.Epoch, Source: span.TimeWatch, MoreChanges: 1,
				Changes: []span.FieldChange{
					{Path: "spec.replicas", Operation: span.FieldReplaced, From: "1", To: "2"},
				},
			},
			{
				Of:   &object.Ref{Kind: object.Kind{Kind: "Pod"}, Namespace: "shop", Name: "web-1", UID: "u"},
				Verb: "patch", Subresource: "scale", User: "me", AuditID: "id",
				Start: spantest.Epoch, End: spantest.At(5).Time, Source: span.TimeAudit,
			},
			{},
		},
	}
}

func FuzzUnpackTrace(f *testing.F) {
	f.Add(span.PackTrace(spantest.Rollout()))
	f.Add([]byte{2})
	one := spantest.Apply()
	one.Spans[0].Facts = facts()
	f.Add(span.PackTrace(one))
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
	one.Spans[0].Facts = facts()
	one.Spans[0].Attributes = append(one.Spans[0].Attributes, attribute.Float64("f", 1.5), attribute.Bool("b", true))
	var packing sync.WaitGroup
	begin := make(chan struct{})
	for range 2 {
		packing.Go(func() {
			<-begin
			for range 50 { // the race detector sees only accesses that are close in time
				span.PackTrace(one)
			}
		})
	}
	close(begin)
	packing.Wait()
}

// TestUnpackDamaged: a trace that was cut is an error.
func TestUnpackDamaged(t *testing.T) {
	one := spantest.Joined()
	one.Spans[0].Facts = facts()
	data := span.PackTrace(one)
	for n := range data {
		if _, err := span.UnpackTrace(data[:n]); err == nil {
			t.Errorf("%d of %d bytes were read", n, len(data))
		}
	}
}

// BenchmarkEncodings compares PackTrace with the protobuf of OTLP, which lacks facts and objects.
func BenchmarkEncodings(b *testing.B) {
	one := spantest.Many(100)
	report := func(b *testing.B, size int) {
		b.Helper()
		b.ReportMetric(float64(b.N*len(one.Spans))/b.Elapsed().Seconds(), "spans/s")
		b.ReportMetric(float64(size)/float64(len(one.Spans)), "bytes/span")
	}
	packed := span.PackTrace(one)
	protobuf, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: span.ToOTLP([]*span.Trace{one}, "")})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write/packed", func(b *testing.B) {
		for b.Loop() {
			span.PackTrace(one)
		}
		report(b, len(packed))
	})
	b.Run("write/protobuf", func(b *testing.B) {
		for b.Loop() {
			otlp := &tracepb.TracesData{ResourceSpans: span.ToOTLP([]*span.Trace{one}, "")}
			if _, err := proto.Marshal(otlp); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(protobuf))
	})
	b.Run("read/packed", func(b *testing.B) {
		for b.Loop() {
			if _, err := span.UnpackTrace(packed); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(packed))
	})
	b.Run("read/protobuf", func(b *testing.B) {
		for b.Loop() {
			var otlp tracepb.TracesData
			if err := proto.Unmarshal(protobuf, &otlp); err != nil {
				b.Fatal(err)
			}
			if _, err := span.FromOTLP(otlp.GetResourceSpans()); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(protobuf))
	})
}
