// SPDX-License-Identifier: Apache-2.0

package span

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

var revised0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// claimAt returns a claim about the span of that number.
func claimAt(of byte, number int64, second int, o, whole Outcome) *Span {
	at := Time{Time: revised0.Add(time.Duration(second) * time.Second)}
	s := &Span{
		ID: trace.SpanID{of, byte(number)}, Parent: trace.SpanID{of}, Name: NameAmend, Start: at, End: at, Outcome: o,
		Message: "was another", Attributes: []attribute.KeyValue{KeyClaim.Int64(number)},
	}
	if whole != "" {
		s.Attributes = append(s.Attributes, KeyTraceOutcome.String(string(whole)))
	}
	return s
}

// told returns a trace of a command with a failed and an unfinished reconciliation, and a phase below the latter.
func told() *Trace {
	end := Time{Time: revised0.Add(time.Minute)}
	why := []attribute.KeyValue{
		KeyReason.String("crash_loop"), KeyReasonMessage.String("crashes"), KeyVerb.String("create"),
	}
	spans := []*Span{
		{ID: trace.SpanID{1}, Name: NameRun, End: end, Outcome: Failed, Status: StatusError, Message: "crashes",
			Attributes: why},
		{ID: trace.SpanID{2}, Parent: trace.SpanID{1}, Name: "reconcile Deployment", End: end, Outcome: Failed,
			Status: StatusError, Message: "crashes", Attributes: why},
		{ID: trace.SpanID{3}, Parent: trace.SpanID{1}, Name: "reconcile Job", End: end, Outcome: Unfinished},
		{ID: trace.SpanID{4}, Parent: trace.SpanID{3}, Name: NameRunning},
	}
	for _, s := range spans {
		s.Start.Time = revised0
	}
	return &Trace{Outcome: Failed, Reason: "Deployment web crashes", Spans: spans}
}

// TestRevise: the highest claim counts, the first result ends the span, and neither order nor repetition matters.
func TestRevise(t *testing.T) {
	claims := []*Span{
		claimAt(3, 2, 7200, Failed, ""), claimAt(3, 3, 9000, Converged, ""), claimAt(2, 2, 9500, Converged, Converged),
	}
	whole := told()
	whole.Spans = append(whole.Spans, claims...)
	before := told()
	got := Revise(whole)
	if diff := cmp.Diff(before.Spans, whole.Spans[:4], cmp.AllowUnexported(attribute.Value{})); diff != "" {
		t.Errorf("the trace itself has changed:\n%s", diff)
	}
	type end struct {
		Outcome, Was Outcome
		Seconds      float64
		Reason       bool
	}
	var ends []end
	for _, s := range got.Spans[:4] {
		e := end{Outcome: s.Outcome, Seconds: s.End.Sub(revised0).Seconds()}
		for _, kv := range s.Attributes {
			switch kv.Key {
			case KeyWas:
				e.Was = Outcome(kv.Value.AsString())
			case KeyReason, KeyReasonMessage:
				e.Reason = true
			}
		}
		ends = append(ends, e)
	}
	if diff := cmp.Diff([]end{
		{Converged, Failed, 60, false}, {Converged, Failed, 60, false}, {Converged, Unfinished, 7200, false},
		{"", "", 7200, false},
	}, ends); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Outcome != Converged || got.Was != Failed || got.Reason != whole.Reason ||
		got.SettledAt().Sub(revised0) != 9500*time.Second {
		t.Errorf("got %s, was %s: %q, settled at %s", got.Outcome, got.Was, got.Reason, got.SettledAt())
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		// Some claims come first, and the rest to the revised trace.
		other := told()
		random.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		n := random.IntN(len(claims) + 1)
		other.Spans = append(other.Spans, claims[:n]...)
		again := *Revise(Revise(other))
		again.Spans = append(again.Spans, claims[n:]...)
		last := Revise(&again)
		if diff := cmp.Diff(got.Spans[:4], last.Spans[:4], cmp.AllowUnexported(attribute.Value{})); diff != "" ||
			last.Outcome != got.Outcome || last.Was != got.Was {
			t.Fatalf("%d claims first: %s, was %s\n%s", n, last.Outcome, last.Was, diff)
		}
	}
	if plain := told(); Revise(plain) != plain {
		t.Error("a trace without claims was copied")
	}
	Revise(&Trace{Spans: claims}) // the rest is not there
}
