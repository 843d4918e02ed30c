// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// TestPastOfALateEvent: an Event adds to the reconciliation in whose time it
// happened, not to the last one.
func TestPastOfALateEvent(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(1_800_000_000+second, 0) }
	p := &past{
		span: trace.SpanID{3}, rv: 300, began: at(30).Unix(),
		before: &before{[]earlier{
			{span: trace.SpanID{1}, rv: 100, began: at(10).Unix(), activity: at(12)},
			{span: trace.SpanID{2}, rv: 200, began: at(20).Unix(), activity: at(29)},
		}},
	}
	for name, c := range map[string]struct {
		second int64
		rv     uint64
		want   byte
	}{
		"now":                                     {31, 999, 3},
		"in the second of the last, after it":     {30, 301, 3},
		"in the second of the last, before it":    {30, 299, 2},
		"before the last, and stored after it":    {25, 999, 2},
		"of the first":                            {15, 999, 1},
		"of the first, with a storage of its own": {10, 7, 1},
		"older": {9, 999, 0},
	} {
		var got byte
		if of := p.of(&event{stamp: at(c.second), ResourceVersion: c.rv}); of != nil {
			got = of.span[0]
		}
		if got != c.want {
			t.Errorf("%s: reconciliation %d, want %d", name, got, c.want)
		}
	}
	none := &past{span: trace.SpanID{1}, rv: 100}
	if none.of(&event{stamp: at(1), ResourceVersion: 5}) != none {
		t.Error("when the reconciliation began is not known, so everything may be of it")
	}
}

func TestPastFollows(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	rec := func(span byte, after time.Duration) *reconciliation {
		at := began.Add(after)
		return &reconciliation{
			line:     &lineage{id: trace.TraceID{span}},
			spanID:   trace.SpanID{span},
			activity: at.Add(time.Second),
			writes: []*write{
				{rv: uint64(span), verb: updated, v: &version{intent: &intent{}, status: &status{}}},
			},
			t: &timeline{},
		}
	}
	var p *past
	fold := func(recs ...*reconciliation) {
		last := recs[len(recs)-1]
		next := &past{
			line:     last.line.id,
			span:     last.id(),
			rv:       last.first().rv,
			began:    last.activity.Unix() - 1,
			activity: last.activity,
		}
		next.follow(p, recs)
		p = next
	}
	told := func() (out []byte) {
		if p.before != nil {
			for _, e := range p.before.recs {
				out = append(out, e.span[0])
			}
		}
		return append(out, p.span[0])
	}
	fold(rec(1, 0))
	fold(rec(1, 0), rec(2, 5*time.Second), rec(3, 10*time.Second))
	if got := told(); string(got) != "\x01\x02\x03" {
		t.Errorf("remembered %v, want 1 2 3", got)
	}
	fold(rec(3, 10*time.Second)) // nothing new
	if got := told(); string(got) != "\x01\x02\x03" {
		t.Errorf("remembered %v after nothing, want 1 2 3", got)
	}
	fold(rec(3, 10*time.Second), rec(4, 70*time.Second))
	if got := told(); string(got) != "\x03\x04" {
		t.Errorf("remembered %v, want 3 4: the others ended more than a minute before", got)
	}
	for n := byte(5); n < 12; n++ {
		fold(rec(n, 72*time.Second+time.Duration(n)*time.Second))
	}
	if got := told(); string(got) != "\x07\x08\x09\x0a\x0b" {
		t.Errorf("remembered %v, want the last %d and one", got, maxEarlier)
	}
}
