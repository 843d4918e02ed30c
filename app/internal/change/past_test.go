// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// TestPastOfALateEvent: a late Event adds to the reconciliation at the time of the Event, not to
// the last one.
func TestPastOfALateEvent(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(1_800_000_000+second, 0) }
	p := &Past{
		SpanID: trace.SpanID{3}, RV: 300, Began: at(30).Unix(),
		Before: &Before{Recs: []Earlier{
			{SpanID: trace.SpanID{1}, RV: 100, Began: at(10).Unix(), Activity: at(12)},
			{SpanID: trace.SpanID{2}, RV: 200, Began: at(20).Unix(), Activity: at(29)},
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
		if of := p.Of(&history.Event{Stamp: at(c.second), ResourceVersion: c.rv}); of != nil {
			got = of.SpanID[0]
		}
		if got != c.want {
			t.Errorf("%s: reconciliation %d, want %d", name, got, c.want)
		}
	}
	none := &Past{SpanID: trace.SpanID{1}, RV: 100}
	if none.Of(&history.Event{Stamp: at(1), ResourceVersion: 5}) != none {
		t.Error("the start of the reconciliation is unknown: any Event may belong to it")
	}
}

func TestPastFollows(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	rec := func(span byte, after time.Duration) *Reconciliation {
		at := began.Add(after)
		return &Reconciliation{
			Lineage:  &Lineage{ID: trace.TraceID{span}},
			SpanID:   trace.SpanID{span},
			Activity: at.Add(time.Second),
			Writes: []*Write{
				{
					RV:      uint64(span),
					Verb:    history.Updated,
					Version: &history.Version{Intent: &history.Intent{}, Status: &history.Status{}},
				},
			},
			Timeline: &Timeline{},
		}
	}
	var p *Past
	fold := func(recs ...*Reconciliation) {
		last := recs[len(recs)-1]
		next := &Past{
			TraceID:  last.Lineage.ID,
			SpanID:   last.ID(),
			RV:       last.First().RV,
			Began:    last.Activity.Unix() - 1,
			Activity: last.Activity,
		}
		next.Follow(p, recs)
		p = next
	}
	told := func() (out []byte) {
		if p.Before != nil {
			for _, e := range p.Before.Recs {
				out = append(out, e.SpanID[0])
			}
		}
		return append(out, p.SpanID[0])
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
		t.Errorf("remembered %v, want the last %d and one", got, MaxEarlier)
	}
}
