// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// joined is a recorder that joins, over storage that outlives it.
type joined struct {
	*restored
	w *world
	// over stands for the journal; nil for the journal itself.
	over   ledger
	passed []*span.Trace
}

// newJoined returns a recorder over a new world.
func newJoined(t *testing.T) *joined {
	t.Helper()
	j := &joined{w: newWorld(t, t.TempDir())}
	j.start(t)
	return j
}

// start restores the recorder, as after kill -9.
func (j *joined) start(t *testing.T) {
	t.Helper()
	over := j.over
	if over == nil {
		over = j.w.Journal
	}
	j.restored = j.w.restoreOver(t, over, recorderOptions{
		Joining: &joining{
			stitch: stitch.New(stitch.Options{Kept: true}),
			pass:   func(traces []*span.Trace) { j.passed = append(j.passed, traces...) },
			stats:  func(joiningStats) {},
		},
	})
}

func (j *joined) mustLook(t *testing.T, now time.Time) {
	t.Helper()
	if err := j.look(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

// stored returns the span of that ID and its trace; nil if it is not there.
func (j *joined) stored(t *testing.T, id trace.SpanID) (of *span.Trace, s *span.Span) {
	t.Helper()
	for _, sum := range j.w.list(t, store.Query{}) {
		record := j.w.trace(t, sum.ID)
		if i := slices.IndexFunc(record.Trace.Spans, func(s *span.Span) bool { return s.ID == id }); i >= 0 {
			return record.Trace, record.Trace.Spans[i]
		}
	}
	return nil, nil
}

// foreign is a span of the kubelet's.
func foreign(id byte, parent trace.SpanID, name string, start, end time.Time, attrs ...attribute.KeyValue) *span.Span {
	s := &span.Span{
		TraceID: trace.TraceID{9}, ID: trace.SpanID{id}, Parent: parent, Name: name, Service: "kubelet",
		Start: span.Time{Time: start}, End: span.Time{Time: end}, Attributes: attrs,
	}
	s.Origin = &span.Origin{
		TraceID: s.TraceID,
		Parent:  parent,
		Kind:    trace.SpanKindInternal,
		Resource: &span.Resource{
			Attributes: []attribute.KeyValue{
				attribute.String("service.name", "kubelet"),
				attribute.String("host.name", "node-0"),
			},
		},
	}
	return s
}

// TestJoins: spans of other components are stored with their trace: while it is open, after a
// restart, and after its end. Spans without a trace are passed on.
func TestJoins(t *testing.T) {
	j := newJoined(t)
	seen := read(t, "../lifecycle/testdata/create.real.jsonl.gz")
	bound := slices.IndexFunc(seen, func(o *observation.Observation) bool {
		return o.State != nil && o.State.Pod != nil && o.State.Pod.Node != ""
	})
	pod, at := seen[bound].State, seen[bound].Seen
	for _, o := range seen[:bound+1] {
		j.observe(o)
	}
	sync := foreign(
		1,
		trace.SpanID{},
		"syncPod",
		at,
		at.Add(time.Second),
		attribute.String("k8s.pod.uid", string(pod.UID)),
	)
	other := foreign(
		7,
		trace.SpanID{},
		"syncPod",
		at,
		at.Add(time.Second),
		attribute.String("k8s.pod.uid", "of another"),
	)
	other.TraceID[0], other.Origin.TraceID[0] = 8, 8
	j.joining.accept([]*span.Span{sync, other}, at)
	j.mustLook(t, at)
	under := func(when string, id trace.SpanID, above string) {
		t.Helper()
		of, s := j.stored(t, id)
		if s == nil {
			t.Fatalf("%s: it is not stored", when)
		}
		i := slices.IndexFunc(of.Spans, func(p *span.Span) bool { return p.ID == s.Parent })
		if i < 0 || of.Spans[i].Name != above || s.Origin == nil || s.TraceID != of.ID {
			t.Errorf("%s: its parent is span %d, want %s: %+v", when, i, above, s)
		}
	}
	under("while the trace is open", sync.ID, "reconcile Pod")

	j.start(t) // as after kill -9
	j.mustLook(t, at.Add(time.Second))
	under("after a restart", sync.ID, "reconcile Pod")

	for _, o := range seen[bound+1:] {
		j.observe(o)
	}
	end := seen[len(seen)-1].Seen
	j.mustLook(t, end)
	j.mustLook(t, end.Add(30*time.Second))
	if of, _ := j.stored(t, sync.ID); of == nil || slices.ContainsFunc(of.Spans, (*span.Span).Open) {
		t.Fatal("the trace is not finished")
	}
	under("when it is finished", sync.ID, "reconcile Pod")
	late := foreign(2, sync.ID, "runtime.v1.RuntimeService/RunPodSandbox", at, at.Add(time.Second))
	j.joining.accept([]*span.Span{late}, end.Add(31*time.Second))
	if j.idle(t.Context()) {
		t.Fatal("no look would take the new spans")
	}
	j.mustLook(t, end.Add(31*time.Second))
	under("when it comes late", late.ID, "syncPod")

	j.joining.accept([]*span.Span{other}, end.Add(31*time.Second))
	j.mustLook(t, end.Add(5*time.Minute))
	if _, s := j.stored(t, other.ID); s != nil {
		t.Error("a span of an unrelated Pod is in a trace")
	}
	if len(j.passed) != 1 || j.passed[0].Spans[0].ID != other.ID {
		t.Errorf("passed on: %d, want the span without a change", len(j.passed))
	}
}

// TestForged: attributes that a sender sets in Lifeline's name are neither shown nor effective, at
// first and after a restart.
func TestForged(t *testing.T) {
	j := newJoined(t)
	seen := read(t, "../lifecycle/testdata/create.real.jsonl.gz")
	bound := slices.IndexFunc(seen, func(o *observation.Observation) bool {
		return o.State != nil && o.State.Pod != nil && o.State.Pod.Node != ""
	})
	pod, at := seen[bound].State, seen[bound].Seen
	for _, o := range seen[:bound+1] {
		j.observe(o)
	}
	const (
		id   = "0102030405060708"
		body = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",` +
			`"value":{"stringValue":"kubelet"}}]},"scopeSpans":[{"scope":{"name":"k"},"spans":[
{"traceId":"0102030405060708090a0b0c0d0e0f10",` +
			`"spanId":"` + id + `","name":"syncPod","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[
{"key":"k8s.pod.uid","value":{"stringValue":%q}},
{"key":"lifeline.evidence","value":{"stringValue":"annotation"}},{"key":"lifeline.outcome",` +
			`"value":{"stringValue":"failed"}},
{"key":"lifeline.origin.span_id","value":{"stringValue":"ffffffffffffffff"}},{"key":"lifeline.clock.correction",` +
			`"value":{"doubleValue":3600}}]}]}]}]}`
	)
	r, err := otlp.New(t.Context(), otlp.Options{
		HTTP: httpserve.Endpoint{Address: "127.0.0.1:0"},
		Sink: otlp.SinkFunc(
			func(_ context.Context, spans []*span.Span) error { j.joining.accept(spans, at); return nil },
		),
		Clock: func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	resp, err := http.Post("http://"+r.HTTPAddr().String()+otlp.DefaultPath, "application/json",
		strings.NewReader(fmt.Sprintf(body, at.UnixNano(), at.Add(time.Second).UnixNano(), pod.UID)))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v", resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for i, when := range []string{"at once", "after a restart", "after another"} {
		j.mustLook(t, at.Add(time.Duration(i)*time.Second))
		want, _ := trace.SpanIDFromHex(id)
		_, got := j.stored(t, want)
		if got == nil {
			t.Fatalf("%s: no span has the original ID", when)
		}
		if got.Evidence != span.ByIdentity || got.Outcome != "" || !got.Start.Equal(at) ||
			got.Origin.TraceID != (trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}) {
			t.Errorf("%s: got %+v of %+v", when, got, got.Origin)
		}
		for _, kv := range got.Attributes {
			if strings.HasPrefix(string(kv.Key), "lifeline.") {
				t.Errorf("%s: it has %s", when, kv.Key)
			}
		}
		j.start(t)
	}
}
