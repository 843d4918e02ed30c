// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// everything is a trace with all possible content.
func everything() *span.Trace {
	b := spantest.New("everything")
	b.Trace.Outcome, b.Trace.Reason = span.Failed, "Pod web: OOMKilled, exit code 137 — “日本”"
	ref := spantest.Ref("apps", "Deployment", "web")
	root := b.Add(
		nil,
		"reconcile Deployment",
		"deployment-controller",
		ref,
		0,
		4000,
		attribute.Bool("b", true),
		attribute.Int("i", -1),
		attribute.Float64("f", 1.5),
		attribute.String("s", "x"),
		attribute.String("s", "again"),
		attribute.StringSlice("ss", []string{"x", ""}),
		attribute.StringSlice("none", []string{}),
		attribute.IntSlice("is", []int{1, 2}),
		attribute.BoolSlice("bs", []bool{true}),
		attribute.Float64Slice("fs", []float64{2}),
		attribute.ByteSlice("bytes", []byte{0, 255}),
		attribute.Slice("mixed", attribute.IntValue(1), attribute.StringValue("x")),
		attribute.Map("map", attribute.Int("k", 1)),
		attribute.KeyValue{Key: "empty"},
	)
	root.Parent, root.RemoteParent, root.Evidence = trace.SpanID{9}, true, span.ByAnnotation
	root.Status, root.Message, root.Outcome = span.StatusError, "because", span.Failed
	root.Start = span.Time{Time: spantest.Epoch.Add(time.Nanosecond), Source: span.TimeObject}
	root.End.Source = span.TimeRequest
	root.Events = []span.Event{
		{Time: spantest.Epoch, Name: span.EventWrite, Attributes: []attribute.KeyValue{span.KeyVerb.String("update")}},
		{Name: "event Scheduled"},
	}
	root.DroppedEvents = 7
	root.Facts = &span.Facts{Writes: []span.Write{typedWrite(spantest.Epoch), {Verb: "delete"}}}
	root.Links = []span.Link{
		{
			TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, Reason: "heals", Evidence: span.ByOwner,
			Attributes: []attribute.KeyValue{attribute.String("note", "first")},
		},
		{TraceID: trace.TraceID{7}},
	}
	pod := b.Add(root, "reconcile Pod", "kubelet", spantest.Ref("", "Pod", "web-1"), 10, -1)
	pod.Evidence, pod.Message, pod.Start.Source = span.ByEvent, "waiting for volumes", span.TimeEvent
	b.Add(pod, "pull image", "kubelet", pod.Object, 20, 30).Evidence = ""
	joined := b.Add(pod, "PATCH /api/v1/namespaces/{:namespace}/pods/{:name}/status", "apiserver", object.Ref{}, 21, 25)
	from := &span.Resource{
		SchemaURL:  "https://schema",
		Attributes: []attribute.KeyValue{attribute.String("service.name", "apiserver")},
	}
	joined.Origin = &span.Origin{
		TraceID: trace.TraceID{5}, Parent: trace.SpanID{6}, Kind: trace.SpanKindServer, TraceState: "a=b",
		Scope: span.Scope{Name: "otelhttp", Version: "1"}, Resource: from,
	}
	joined.Evidence, joined.Start.Source, joined.End.Source = span.ByRequest, "", ""
	b.Add(joined, "authorization", "apiserver", object.Ref{}, 22, 23).Origin = &span.Origin{
		TraceID: trace.TraceID{5}, Kind: trace.SpanKindInternal, Scope: span.Scope{Name: "filters"}, Resource: from,
	}
	b.Add(joined, "nobody", "", object.Ref{}, 22, 23).Origin = &span.Origin{}
	b.Add(root, "run", "", spantest.Ref("", "Node", ""), 30, 30).Object.Namespace = ""
	return b.Trace
}

func testLossless(t *testing.T, open Open) {
	stories := map[string]*span.Trace{
		"everything":    everything(),
		"apply":         spantest.Apply(),
		"crash loop":    spantest.CrashLoop(),
		"unschedulable": spantest.Unschedulable(),
		"many":          spantest.Many(50),
		"rollout":       spantest.Rollout(),
		"healing":       spantest.Healing()[1],
	}
	for name, want := range stories {
		s, b := open(t), batch(1)
		b.Finished = []*span.Trace{want}
		put(t, s, b)
		got := get(t, s, want.ID)
		if d := diff(want, got.Trace); d != "" || got.Open {
			t.Errorf("%s: open %v (-want +got):\n%s", name, got.Open, d)
		}
	}
	t.Run("hostile", func(t *testing.T) {
		s, b, want := open(t), batch(1), spantest.Hostile()
		want.Spans[0].Name, want.Spans[0].Service, want.Reason = "bad \xff", "\xfe", "\xfd"
		want.Spans[0].Start.Time = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		want.Spans[0].Attributes = append(want.Spans[0].Attributes, attribute.String("agent", "\xff"),
			attribute.StringSlice("x", []string{"\xff"}))
		b.Finished = []*span.Trace{want}
		put(t, s, b)
		got := get(t, s, want.ID)
		if d := diff(
			span.ToOTLP([]*span.Trace{want}, "c")[0].String(),
			span.ToOTLP([]*span.Trace{got.Trace}, "c")[0].String(),
		); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func testSummary(t *testing.T, open Open) {
	s := open(t)
	apply, healing := spantest.Apply(), spantest.Healing()[1]
	ended := unfinish(change(1, 3))
	b := batch(7)
	b.Finished = []*span.Trace{apply, healing, ended}
	put(t, s, b)
	for _, given := range []*span.Trace{apply, healing, ended} {
		want := store.Summarize(given, asOf)
		want.AsOf, want.Revision = asOf, 7
		got := get(t, s, given.ID)
		if d := diff(want, got.Summary); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		listed := list(t, s, store.Query{})
		if !slices.ContainsFunc(listed, func(s store.Summary) bool { return diff(want, s) == "" }) {
			t.Errorf("the list lacks %+v", want)
		}
	}
	if _, err := s.Trace(t.Context(), store.Scope{}, trace.TraceID{1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an absent trace: %v", err)
	}
	want := store.Stats{Traces: 3, Oldest: spantest.Epoch, Revision: 7}
	for _, given := range []*span.Trace{apply, healing, ended} {
		want.Spans += int64(len(given.Spans))
		for _, one := range given.Spans {
			want.Writes += int64(len(store.WritesOf(one)))
		}
	}
	got := stats(t, s)
	if got.Bytes <= 0 {
		t.Errorf("%d bytes", got.Bytes)
	}
	got.Bytes = 0
	if d := diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func testInvalid(t *testing.T, open Open) {
	good := change(1, 2)
	foreign := change(2, 2)
	foreign.ID = trace.TraceID{1}
	cases := map[string]struct {
		reason string
		batch  *store.Batch
	}{
		"no revision": {reason: "it could not be ordered", batch: &store.Batch{AsOf: asOf}},
		"no time":     {reason: "open spans would have no length", batch: &store.Batch{Revision: 1}},
		"no trace ID": {
			reason: "it could not be found",
			batch:  &store.Batch{Revision: 1, AsOf: asOf, Finished: []*span.Trace{{}}},
		},
		"no spans": {
			reason: "it has no time",
			batch:  &store.Batch{Revision: 1, AsOf: asOf, Finished: []*span.Trace{good, {ID: good.ID}}},
		},
		"foreign span": {
			reason: "it belongs elsewhere",
			batch:  &store.Batch{Revision: 1, AsOf: asOf, Finished: []*span.Trace{good, foreign}},
		},
	}
	s := open(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			if err := s.Write(t.Context(), tc.batch); err == nil {
				t.Error("was accepted")
			}
			if got := stats(t, s); got.Traces != 0 || got.Revision != 0 {
				t.Errorf("left %+v", got)
			}
		})
	}
}

func testClosed(t *testing.T, open Open) {
	s := open(t)
	for range 2 {
		must(t, s.Close())
	}
	b := batch(1)
	b.Finished = []*span.Trace{change(1, 1)}
	_, pruning := s.Prune(t.Context(), store.Limits{})
	_, reading := s.Trace(t.Context(), store.Scope{}, trace.TraceID{1})
	_, listing := s.List(t.Context(), store.Query{})
	_, forgetting := s.Forget(t.Context(), store.Selector{Namespace: "default"})
	pinning := s.Pin(t.Context(), b.Finished[0].ID, true)
	for i, err := range []error{s.Write(t.Context(), b), pruning, reading, listing, forgetting, pinning} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("call %d after the end: %v", i, err)
		}
	}
}
