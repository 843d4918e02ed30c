// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics/testutil"
)

// requests is an OTLP client that hands out its requests. It answers with the errors of answers.
type requests struct {
	discard
	received chan *tracepb.ResourceSpans
	answers  chan error
}

func (r requests) UploadTraces(_ context.Context, all []*tracepb.ResourceSpans) error {
	for _, of := range all {
		encoded, err := proto.Marshal(of)
		if err != nil {
			return err
		}
		decoded := &tracepb.ResourceSpans{}
		if err := proto.Unmarshal(encoded, decoded); err != nil {
			return err
		}
		r.received <- decoded
	}
	return <-r.answers
}

// aSpan encodes a span with only a name.
func aSpan(name string) func(*wire) int {
	return func(w *wire) int {
		span := w.open(fieldSpans)
		w.text(fieldName, name)
		w.shut(span)
		return 1
	}
}

func TestBatches(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "3")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
	register()
	dropped.Reset()
	client := requests{received: make(chan *tracepb.ResourceSpans), answers: make(chan error)}
	e, err := NewExporter(t.Context(), client, resource.NewSchemaless(attribute.String("service.name", "s")), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := func(of *tracepb.ResourceSpans) (names []string) {
		if got := of.Resource.Attributes; len(got) != 1 || got[0].Value.GetStringValue() != "s" {
			t.Errorf("resource %v", got)
		}
		for _, s := range of.ScopeSpans[0].Spans {
			names = append(names, s.Name)
		}
		return names
	}
	e.add(aSpan("a"))
	if !e.add(aSpan("b")) {
		t.Fatal("the queue of three spans is full after one")
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(<-client.received)); diff != "" {
		t.Errorf("a full batch goes at once: -want +got\n%s", diff)
	}
	// The client is busy with both spans, so one more fits.
	if !e.add(aSpan("c")) || e.add(aSpan("d")) {
		t.Error("want room for the third span and not for the fourth")
	}
	client.answers <- errors.New("refused")
	done := make(chan error)
	go func() { done <- e.Shutdown(context.Background()) }()
	if diff := cmp.Diff([]string{"c"}, names(<-client.received)); diff != "" {
		t.Errorf("the end sends the rest: -want +got\n%s", diff)
	}
	client.answers <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got, err := testutil.GetCounterMetricValue(dropped.WithLabelValues("unsent")); err != nil || got != 2 {
		t.Errorf("%v attempts are counted as unsent, error %v, want 2", got, err)
	}
}

// growing is an OTLP client. During each request, a span of another attempt arrives.
type growing struct {
	discard
	exporter *Exporter
	requests int
}

func (g *growing) UploadTraces(context.Context, []*tracepb.ResourceSpans) error {
	if g.requests++; g.requests < 10 {
		g.exporter.add(aSpan("later"))
	}
	return nil
}

func TestDrainIsBounded(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
	client := &growing{}
	e, err := NewExporter(t.Context(), client, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.exporter = e
	e.add(aSpan("first"))
	e.drain(t.Context(), true)
	if client.requests != 1 {
		t.Errorf("%d requests, want 1: spans that come during a request wait for the next tick", client.requests)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// stuck is an OTLP client whose receiver does not answer.
type stuck struct {
	discard
	began chan struct{}
}

func (s stuck) UploadTraces(ctx context.Context, _ []*tracepb.ResourceSpans) error {
	s.began <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	register()
	client := stuck{began: make(chan struct{}, 10)}
	e, err := NewExporter(t.Context(), client, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.add(aSpan("a"))
	<-client.began // the request of run
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Shutdown(ctx) }()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context: a span was lost", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Shutdown waits longer than its context")
	}
}

// TestWire decodes an encoded span.
func TestWire(t *testing.T) {
	at := time.Unix(1, 2)
	long := string(make([]byte, 20000)) // its size takes three bytes
	var w wire
	short := w.openSpan() // its size takes one byte
	w.text(fieldName, "short")
	w.shutSpan(short)
	span := w.openSpan()
	w.bytes(fieldSpanID, []byte{1, 2})
	w.text(fieldName, "not \xff UTF-8")
	w.number(fieldKind, kindInternal)
	w.time(fieldStart, at)
	w.flags(flagSampled)
	w.string("string", long)
	w.int("int", -5)
	w.float("float", 1.5)
	w.bool("bool", true)
	w.strings("strings", []string{"a", ""})
	w.ints("ints", []int64{1, -1})
	w.event("event", at)
	w.failed("text")
	w.shutSpan(span)
	usual := w.openSpan() // two bytes
	w.text(fieldName, long[:200])
	w.shutSpan(usual)
	got := &tracepb.ScopeSpans{}
	if err := proto.Unmarshal(w.encoded(), got); err != nil {
		t.Fatal(err)
	}
	if len(got.Spans) != 3 || got.Spans[0].Name != "short" || got.Spans[2].Name != long[:200] {
		t.Fatalf("%d spans: %v", len(got.Spans), got)
	}
	s := got.Spans[1]
	texts := map[string]string{}
	for _, kv := range s.Attributes {
		texts[kv.Key] = kv.Value.String()
	}
	if s.Name != "not \uFFFD UTF-8" || s.StartTimeUnixNano != 1e9+2 || len(s.Attributes) != 6 ||
		s.Attributes[0].Value.GetStringValue() != long || s.Attributes[1].Value.GetIntValue() != -5 ||
		s.Attributes[2].Value.GetDoubleValue() != 1.5 || !s.Attributes[3].Value.GetBoolValue() ||
		len(s.Attributes[4].Value.GetArrayValue().GetValues()) != 2 ||
		s.Attributes[5].Value.GetArrayValue().GetValues()[1].GetIntValue() != -1 ||
		s.Events[0].Name != "event" || s.Status.Message != "text" || s.Status.Code != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("decoded %v", texts)
	}
	if len(s.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("unknown fields %x", s.ProtoReflect().GetUnknown())
	}
}

func TestMemory(t *testing.T) {
	m := memory[int]{limit: 4}
	for i, pod := range []types.UID{"a", "b", "c", "b", "d"} {
		m.put(pod, i)
	}
	for pod, want := range map[types.UID]int{"b": 3, "c": 2, "d": 4} {
		if got := m.take(pod); got != want {
			t.Errorf("%s has %d, want %d", pod, got, want)
		}
	}
	m.put("e", 5)
	if _, ok := m.get("a"); ok || m.len() != 1 {
		t.Errorf("%d entries, the oldest one is there: %v", m.len(), ok)
	}
}
