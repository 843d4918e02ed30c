// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var epoch = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// at returns the time that many seconds after epoch.
func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// deployment returns a trace with one open span. A category, and the time since when, are optional.
func deployment(n byte, category string, since int) *span.Trace {
	id := trace.TraceID{15: n}
	root := &span.Span{
		TraceID: id, ID: trace.SpanID{7: n}, Name: "reconcile Deployment", Start: span.Time{Time: epoch},
		Object: object.Ref{
			Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Namespace: "shop", Name: fmt.Sprintf("web-%d", n), UID: "u",
		},
	}
	t := &span.Trace{ID: id, Spans: []*span.Span{root}, Outcome: span.Unfinished}
	if category != "" {
		t.Reason = "Pod web-x cannot pull image web:9"
		root.Attributes = append(root.Attributes, span.KeyReason.String(category),
			span.KeyReasonObject.String("Pod web-x"), span.KeyReasonNext.String("kubectl describe pod/web-x"))
		if since >= 0 {
			root.Attributes = append(root.Attributes, span.KeyReasonSince.String(at(since).Format(time.RFC3339Nano)))
		}
	}
	return t
}

// ended returns t with an end and an outcome.
func ended(t *span.Trace, outcome span.Outcome) *span.Trace {
	t.Outcome = outcome
	t.Spans[0].End, t.Spans[0].Outcome = span.Time{Time: at(900)}, outcome
	return t
}

// claimed returns a new claim about the first change; an empty outcome is one about a part of it.
func claimed(whole span.Outcome) []*span.Trace {
	id := trace.TraceID{15: 1}
	s := &span.Span{
		TraceID: id, ID: trace.SpanID{1, 1}, Parent: trace.SpanID{7: 1}, Name: span.NameAmend,
		Start: span.Time{Time: at(1)}, End: span.Time{Time: at(1)}, Outcome: span.Converged,
		Attributes: []attribute.KeyValue{span.KeyClaim.Int(2)},
	}
	if whole != "" {
		s.Outcome = whole
		s.Attributes = append(s.Attributes, span.KeyTraceOutcome.String(string(whole)))
	}
	return []*span.Trace{{ID: id, Spans: []*span.Span{s}}}
}

// due returns the new notices of b, as "stuck crash_loop".
func due(b *Board, known *int) string {
	var out []string
	for _, n := range b.pending[*known:] {
		_, typ, _ := strings.Cut(string(n.Type), "change.")
		out = append(out, strings.TrimSpace(typ+" "+n.Category))
	}
	*known = len(b.pending)
	return strings.Join(out, ", ")
}

func TestBoard(t *testing.T) {
	type look struct {
		at                   int
		open, finished, late []*span.Trace
		want                 string
	}
	open := func(category string, since int) []*span.Trace {
		return []*span.Trace{deployment(1, category, since)}
	}
	end := func(category string, outcome span.Outcome) []*span.Trace {
		return []*span.Trace{ended(deployment(1, category, 0), outcome)}
	}
	for name, looks := range map[string][]look{
		"stuck, then resolved": {
			{at: 0, open: open("", -1)},
			{at: 10, open: open("crash_loop", 5)},
			{at: 64, open: open("crash_loop", 5)},
			{at: 65, open: open("crash_loop", 5), want: "stuck crash_loop"},
			{at: 90, open: open("crash_loop", 5)},
			{at: 95, open: open("", -1), want: "resolved crash_loop"},
			{at: 96, finished: end("", span.Converged)},
		},
		"stuck, then converged": {
			{at: 65, open: open("crash_loop", 5), want: "stuck crash_loop"},
			{at: 70, finished: end("", span.Converged), want: "resolved crash_loop"},
		},
		"stuck, then failed": {
			{at: 65, open: open("crash_loop", 5), want: "stuck crash_loop"},
			{at: 70, finished: end("progress_deadline", span.Failed), want: "failed progress_deadline"},
		},
		"failed at once": {{at: 1, finished: end("job_failed", span.Failed),
			want: "failed job_failed"}},
		"unfinished with a reason":    {{at: 1, finished: end("paused", span.Unfinished), want: "failed paused"}},
		"unfinished without a reason": {{at: 1, finished: end("", span.Unfinished)}},
		"failed, then recovered": {
			{at: 1, finished: end("job_failed", span.Failed), want: "failed job_failed"},
			{at: 60, late: claimed(span.Converged), want: "resolved job_failed"},
			{at: 90, late: claimed(span.Converged)},
		},
		"unfinished, then failed, then recovered": {
			{at: 1, finished: end("", span.Unfinished)},
			{at: 60, late: claimed(span.Failed), want: "failed"},
			{at: 90, late: claimed(span.Converged), want: "resolved"},
		},
		"unfinished, then converged": {
			{at: 1, finished: end("", span.Unfinished)}, {at: 60, late: claimed(span.Converged)},
		},
		"a claim that changes no whole": {
			{at: 1, finished: end("job_failed", span.Failed), want: "failed job_failed"}, {at: 60, late: claimed("")},
		},
		"a claim about an unknown change": {{at: 60, late: claimed(span.Failed)}},
		"unfinished with a reason, then ok": {
			{at: 1, finished: end("paused", span.Unfinished), want: "failed paused"},
			{at: 60, late: claimed(span.Failed)},
			{at: 90, late: claimed(span.Converged), want: "resolved paused"},
		},
		"converged": {{at: 1, finished: end("", span.Converged)}},
		"the beginning was not observed": {{at: 0, open: open("paused", -1)},
			{at: 60, open: open("paused", -1), want: "stuck paused"}},
		"a reason that comes and goes": {
			{at: 0, open: open("image_pull", 0)}, {at: 30, open: open("", -1)}, {at: 61, open: open("image_pull", 61)},
		},
		"reasons that alternate": {
			{at: 0, open: open("image_pull", 0)},
			{at: 30, open: open("registry_unreachable", 30)},
			{at: 60, open: open("image_pull", 60), want: "stuck image_pull"},
			{at: 90, open: open("registry_unreachable", 90)},
			{at: 150, open: open("registry_unreachable", 90), want: "stuck registry_unreachable"},
		},
		"part of another change": {
			{at: 65, open: open("crash_loop", 5), want: "stuck crash_loop"},
			{at: 70, want: "resolved crash_loop"},
		},
		"stuck twice": {
			{at: 65, open: open("crash_loop", 5), want: "stuck crash_loop"},
			{at: 70, open: open("", -1), want: "resolved crash_loop"},
			{at: 200, open: open("crash_loop", 100), want: "stuck crash_loop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := NewBoard(time.Minute, nil)
			if err != nil {
				t.Fatal(err)
			}
			known := 0
			seen := map[string]bool{}
			for i, l := range looks {
				b.Look(at(l.at), l.open, l.finished, l.late, false)
				if got := due(b, &known); got != l.want {
					t.Errorf("look %d: got %q, want %q", i, got, l.want)
				}
				// Each look may be followed by a restart.
				data, _, err := b.State()
				if err != nil {
					t.Fatal(err)
				}
				again, err := NewBoard(time.Minute, data)
				if err != nil {
					t.Fatal(err)
				}
				if len(again.pending) != known || len(again.told) != len(b.told) {
					t.Errorf("look %d: a restart has %d pending and %d told, want %d and %d", i,
						len(again.pending), len(again.told), known, len(b.told))
				}
			}
			for _, n := range b.pending {
				if seen[n.ID] {
					t.Errorf("two notices have the ID %s", n.ID)
				}
				seen[n.ID] = true
			}
		})
	}
}

// TestBoardOrder delivers only what is stored, in order, and again after a restart.
func TestBoardOrder(t *testing.T) {
	b, _ := NewBoard(time.Minute, nil)
	b.Look(at(1), nil, []*span.Trace{
		ended(deployment(1, "job_failed", 0), span.Failed), ended(deployment(2, "job_failed", 0), span.Failed),
	}, nil, false)
	if _, ok := b.Next(); ok {
		t.Error("a notice goes out before it is stored")
	}
	data, changed, err := b.State()
	if err != nil || !changed {
		t.Fatalf("changed is %t, %v", changed, err)
	}
	b.Stored()
	first, ok := b.Next()
	if !ok || first.TraceID != (trace.TraceID{15: 1}).String() {
		t.Fatalf("got %+v", first)
	}
	b.Done(first)
	if second, ok := b.Next(); !ok || second.TraceID != (trace.TraceID{15: 2}).String() || !b.Changed() {
		t.Errorf("got %+v", second)
	}
	again, err := NewBoard(time.Minute, data)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := again.Next(); !ok || n.ID != first.ID || !n.Time.Equal(first.Time) || n.Reason != first.Reason {
		t.Errorf("after a restart: got %+v, want %+v", n, first)
	}
	if b, err := NewBoard(time.Minute, []byte("{")); err == nil || b == nil {
		t.Error("a damaged state gives no error, or no board")
	}
}

// TestSilentBoard takes over from another server: what that one has told is not told again.
func TestSilentBoard(t *testing.T) {
	b, _ := NewBoard(time.Minute, nil)
	failed := []*span.Trace{ended(deployment(2, "job_failed", 0), span.Failed)}
	b.Look(at(70), []*span.Trace{deployment(1, "crash_loop", 0)}, failed, nil, true)
	b.Look(at(80), []*span.Trace{deployment(1, "crash_loop", 0)}, nil, nil, false)
	if len(b.pending) != 0 {
		t.Errorf("got %+v", b.pending)
	}
	b.Look(at(90), []*span.Trace{deployment(1, "", 0)}, nil, nil, false)
	if len(b.pending) != 1 || b.pending[0].Type != Resolved {
		t.Errorf("got %+v", b.pending)
	}
}

// TestBoardBounds drops the oldest notices above the bound.
func TestBoardBounds(t *testing.T) {
	b, _ := NewBoard(time.Minute, nil)
	for range maxPending/100 + 1 {
		var finished []*span.Trace
		for n := range byte(100) {
			finished = append(finished, ended(deployment(n, "job_failed", 0), span.Failed))
		}
		b.Look(at(1), nil, finished, nil, false)
	}
	if pending, dropped := b.Waiting(); pending != maxPending || dropped != 100 {
		t.Errorf("%d are pending and %d dropped", pending, dropped)
	}
}

// TestCounts bounds the labels of the metrics.
func TestCounts(t *testing.T) {
	var c Counts
	var open []*span.Trace
	for n := range maxLabels + 10 {
		one := deployment(1, "crash_loop", 0)
		one.Spans[0].Object.Namespace = fmt.Sprintf("ns-%04d", n)
		open = append(open, one)
	}
	c.Look(append(open, deployment(2, "", -1)), []*span.Trace{
		ended(deployment(3, "job_failed", 0), span.Failed), ended(deployment(4, "", 0), span.Converged),
	})
	got := map[string]int64{}
	c.Each(
		func(l Labels, n int64) { got["stuck "+l.Namespace] += n },
		func(l Labels, n int64) { got["failed "+l.Kind+" "+l.Category+" "+l.Namespace] += n },
	)
	if len(got) != maxLabels+1 || got["stuck "+Other] != 11 || got["stuck ns-0007"] != 1 {
		t.Errorf("%d counts, %d of other namespaces", len(got), got["stuck "+Other])
	}
	if got["failed (other) job_failed (other)"]+got["failed Deployment job_failed shop"] != 1 {
		t.Errorf("got %v", got)
	}
	c.Look(nil, nil)
	c.Each(func(l Labels, n int64) { t.Errorf("%+v is still %d", l, n) }, func(Labels, int64) {})
}
