// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/cputime"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// TestFlood sends far more spans than the limits allow, in unrelated traces. Each shape tries to
// make one index entry large.
func TestFlood(t *testing.T) {
	const most = 5000
	shapes := map[string]func(i int, s *span.Span){
		"traces of their own": func(i int, s *span.Span) {
			s.TraceID = trace.TraceID{1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		},
		"one trace":       func(int, *span.Span) {},
		"one parent":      func(_ int, s *span.Span) { s.Parent = trace.SpanID{9} },
		"a chain":         func(i int, s *span.Span) { s.Parent = spanID(i + 1) },
		"a chain, turned": func(i int, s *span.Span) { s.Parent = spanID(i - 1) },
		"one audit-id": func(_ int, s *span.Span) {
			s.Attributes = []attribute.KeyValue{attribute.String("audit-id", "same")}
		},
		"one Pod": func(_ int, s *span.Span) {
			s.Name, s.Attributes = "syncPod", []attribute.KeyValue{attribute.String("k8s.pod.uid", "same")}
		},
		"containers": func(i int, s *span.Span) {
			s.Attributes = []attribute.KeyValue{
				attribute.String("container.id", spanID(i).String()), sandboxName("elsewhere"),
			}
		},
		"large texts": func(_ int, s *span.Span) { s.Message = strings.Repeat("x", 4000) },
		"reads":       func(_ int, s *span.Span) { s.Name = "GET /api/v1/namespaces/{:namespace}/pods/{:name}" },
		"noise":       func(_ int, s *span.Span) { s.Name = "runtime.v1.RuntimeService/Status" },
		"one exec, asked": func(i int, s *span.Span) {
			s.Name = "GET /api/v1/namespaces/{:namespace}/pods/{:name}/exec"
			s.Attributes = []attribute.KeyValue{
				attribute.String("url.path", "/api/v1/namespaces/default/pods/web-1/exec"),
				attribute.String("audit-id", spanID(i).String()),
			}
		},
		"one exec, answered": execAnswer,
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			s := stitch.New(stitch.Options{MaxSpans: most, MaxBytes: 8 << 20})
			ours, _, _ := web()
			var mine foreign
			mine.request(by{1, 1}, postDeployments, "audit-deployment", 1, 4)
			s.Accept(mine.list, now)
			s.Join(ours.Trace, false, now)
			var f foreign
			proto := f.add("apiserver@cp", "s", "POST /api/v1/x", by{9, 1}, 0, 1, 2)
			sent := int64(len(mine.list))
			for i := 0; i < 4*most; i += 500 {
				var batch []*span.Span
				for k := i; k < i+500; k++ {
					one := *proto
					one.ID = spanID(k)
					shape(k, &one)
					batch = append(batch, &one)
				}
				s.Accept(batch, now)
				sent += int64(len(batch))
				if st := s.Stats(); st.Buffered > most || st.Bytes > 8<<20 {
					t.Fatalf("over the bound: %+v", st)
				}
			}
			st := s.Stats()
			if gone := st.Repeated + st.Own + st.Noise + st.Joined + st.Late + st.Passed + st.Expired + st.Evicted +
				st.Surplus + st.Overdue + st.Untimely; st.Received != sent || gone+int64(st.Buffered) < sent {
				t.Errorf("of %d spans some are not accounted for: %+v", sent, st)
			}
			if got := s.Join(ours.Trace, true, now); len(edgesOf(got)) != 4 {
				t.Errorf("what had been joined went for it: %+v\n%s", st, outline(got))
			}
		})
	}
}

func execAnswer(i int, s *span.Span) {
	s.TraceID = trace.TraceID{1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
	s.Name, s.Attributes = "/exec/{podNamespace}/{podID}/{containerName}", []attribute.KeyValue{
		attribute.String("url.path", execWeb),
	}
}

// TestFloodOfOneStream: the cost of a span does not depend on the number of waiting spans of its
// stream. If each span were compared with all others, this test would take a minute.
func TestFloodOfOneStream(t *testing.T) {
	const most, limit = 80_000, 30 * time.Second
	s := stitch.New(stitch.Options{MaxSpans: most})
	var f foreign
	f.answers(1, execWeb, 1, 2)
	spans := make([]span.Span, most)
	begun := cputime.Used(t)
	for i := range spans {
		spans[i] = *f.list[0]
		spans[i].ID = spanID(i)
		execAnswer(i, &spans[i])
		if s.Accept([]*span.Span{&spans[i]}, now); i%1000 == 0 && cputime.Used(t)-begun > limit {
			t.Fatalf("%d spans took %s", i, limit)
		}
	}
	if s.Expire(now.Add(time.Hour)); cputime.Used(t)-begun > limit {
		t.Errorf("%d spans took %s", most, cputime.Used(t)-begun)
	}
}

// TestDeepTrees: the cost of a span does not depend on the depth of its tree. If each span visited
// all its ancestors, this test would take half a minute.
func TestDeepTrees(t *testing.T) {
	const most, limit = 30_000, 10 * time.Second
	for name, parent := range map[string]int{"children first": 1, "parents first": -1} {
		t.Run(name, func(t *testing.T) {
			s := stitch.New(stitch.Options{})
			var f foreign
			proto := f.add("containerd", "i", "work", by{9, 1}, 0, 1, 2, attribute.String("container.id", "same"))
			spans := make([]span.Span, most)
			batch := make([]*span.Span, most)
			for i := range spans {
				spans[i] = *proto
				spans[i].ID, spans[i].Parent = spanID(i+1), spanID(i+1+parent)
				batch[i] = &spans[i]
			}
			begun := cputime.Used(t)
			s.Accept(batch, now)
			passed := s.Expire(now.Add(time.Hour))
			if took := cputime.Used(t) - begun; took > limit {
				t.Errorf("%d spans took %s", most, took)
			}
			if len(passed) != 1 || len(passed[0].Spans) != most {
				t.Errorf("%d traces passed: %+v", len(passed), s.Stats())
			}
		})
	}
}

// TestDeepTreeJoined is TestDeepTrees for the spans of a change.
func TestDeepTreeJoined(t *testing.T) {
	const most, limit = 30_000, 15 * time.Second
	ours, _, _ := web()
	s := stitch.New(stitch.Options{MaxPerTrace: most})
	var f foreign
	proto := f.add("containerd", "i", "work", by{9, 1}, 0, 1, 2, attribute.String("container.id", "same"))
	spans := make([]span.Span, most)
	batch := make([]*span.Span, most)
	for i := range spans {
		spans[i] = *proto
		spans[i].TraceID, spans[i].ID, spans[i].Parent = ours.ID, spanID(i+1), spanID(i)
		batch[i] = &spans[i]
	}
	begun := cputime.Used(t)
	s.Join(ours.Trace, false, now)
	s.Accept(batch, now)
	got := s.Join(ours.Trace, true, now)
	if took := cputime.Used(t) - begun; took > limit {
		t.Errorf("%d spans took %s", most, took)
	}
	if n := len(got.Spans) - len(ours.Spans); n != most {
		t.Errorf("%d spans were joined: %+v", n, s.Stats())
	}
}

func spanID(i int) trace.SpanID {
	return trace.SpanID{0xee, 5: byte(i >> 16), 6: byte(i >> 8), 7: byte(i)}
}

func TestMaxPerTrace(t *testing.T) {
	ours, _, _ := web()
	s := stitch.New(stitch.Options{MaxPerTrace: 3})
	s.Accept(all(), now)
	got := s.Join(ours.Trace, true, now)
	check(t, ours.Trace, got)
	if n := len(edgesOf(got)); n != 3 {
		t.Errorf("%d spans of others", n)
	}
	if st := s.Stats(); st.Surplus != 10 || st.Joined != 3 {
		t.Errorf("stats: %+v", st)
	}
}

// TestMaxIndex: MaxIndex bounds the identities of finished traces.
func TestMaxIndex(t *testing.T) {
	s := stitch.New(stitch.Options{MaxIndex: 100})
	for i := range 100 {
		one := newStory(spanID(i).String())
		one.write(one.add(nil, "reconcile Deployment", ref("apps", "Deployment", spanID(i).String()), 0, 10), "create",
			"audit", 0, 5)
		s.Join(one.Trace, true, now)
		if st := s.Stats(); st.Index > 100 {
			t.Fatalf("%+v", st)
		}
	}
}
