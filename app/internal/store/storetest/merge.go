// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// testVersions checks each rule of the merge, in both orders.
func testVersions(t *testing.T, open Open) {
	done := change(1, 4)
	other := without(change(1, 4), 2)
	other.Outcome, other.Reason = span.Failed, "other"
	renamed := *other.Spans[1]
	renamed.Message = "other"
	extra := *done.Spans[3]
	extra.ID = trace.SpanID{77}
	other.Spans = []*span.Span{other.Spans[0], &renamed, &extra}
	added := amendment(done, "late")
	taken := *done.Spans[2]
	taken.Message = "amended"

	cases := map[string]struct {
		reason      string
		first, then func(*store.Batch)
		want        *span.Trace
	}{
		"finished twice": {
			reason: "no span is lost, and the first version of each counts",
			first:  finishes(done),
			then:   finishes(other),
			want:   with(done, &extra),
		},
		"finished and amended": {
			reason: "spans are added",
			first:  finishes(done),
			then:   amends(added),
			want:   with(done, added.Spans...),
		},
		"amended, then finished": {
			reason: "the amendment waits for its trace",
			first:  amends(added),
			then:   finishes(done),
			want:   with(done, added.Spans...),
		},
		"amended with an own span": {
			reason: "an own span counts",
			first:  finishes(done),
			then:   amends(&span.Trace{ID: done.ID, Spans: []*span.Span{&taken}}),
			want:   done,
		},
		"an own span amended before": {
			reason: "an own span counts",
			first:  amends(&span.Trace{ID: done.ID, Spans: []*span.Span{&taken}}),
			then:   finishes(done),
			want:   done,
		},
		"amendment alone": {reason: "it is no trace", first: amends(added), then: amends(added)},
	}
	for name, tc := range cases {
		one, two := batch(1), batch(2)
		tc.first(one)
		tc.then(two)
		for order, batches := range map[string][]*store.Batch{
			"in order":          {one, two},
			"repeated":          {one, one, two, two, one},
			"late":              {two, one},
			"late and repeated": {two, one, two},
		} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Log(tc.reason)
				s := open(t)
				for _, b := range batches {
					put(t, s, b)
				}
				got, err := s.Trace(t.Context(), store.Scope{}, done.ID)
				if tc.want == nil {
					if !errors.Is(err, store.ErrNotFound) || stats(t, s).Traces != 0 ||
						len(list(t, s, store.Query{})) != 0 {
						t.Errorf("visible: %v, %v", got, err)
					}
					return
				}
				must(t, err)
				if d := diff(tc.want, got.Trace); d != "" || got.Open {
					t.Errorf("open %v (-want +got):\n%s", got.Open, d)
				}
			})
		}
	}
}

func finishes(t *span.Trace) func(*store.Batch) {
	return func(b *store.Batch) { b.Finished = append(b.Finished, t) }
}

func amends(t *span.Trace) func(*store.Batch) {
	return func(b *store.Batch) { b.Amendments = append(b.Amendments, t) }
}

// with returns a copy of t with further spans.
func with(t *span.Trace, further ...*span.Span) *span.Trace {
	out := *t
	out.Spans = slices.Concat(t.Spans, further)
	return &out
}

// testOrder applies one random history in many orders.
func testOrder(t *testing.T, open Open) {
	const seed, traces, length, orders = 1, 6, 40, 12
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test that repeats
	history := make([]*store.Batch, length)
	for i := range history {
		b := batch(int64(i + 1))
		for range 1 + random.IntN(3) {
			whole := change(1+random.IntN(traces), 2+random.IntN(5))
			switch part := without(whole, random.IntN(2)); random.IntN(4) {
			case 0:
				b.Finished = append(b.Finished, unfinish(part))
			case 1:
				b.Finished = append(b.Finished, part)
			case 2:
				b.Amendments = append(b.Amendments, amendment(whole, number(random.IntN(3))))
			case 3: // a span that may also be a finished one
				late := &span.Trace{ID: whole.ID, Spans: whole.Spans[len(whole.Spans)-1:]}
				b.Amendments = append(b.Amendments, late)
			}
		}
		unique(b)
		history[i] = b
	}
	var want map[string]any
	for order := range orders {
		s := open(t)
		batches := slices.Clone(history)
		if order > 0 {
			random.Shuffle(length, func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
			batches = append(batches, batches[random.IntN(length):]...)
		}
		for _, b := range batches {
			put(t, s, b)
		}
		got := contents(t, s)
		if order == 0 {
			want = got
			continue
		}
		if d := diff(want, got); d != "" {
			t.Fatalf("seed %d, order %d (-in order +shuffled):\n%s", seed, order, d)
		}
	}
}

// unique keeps the first finished version of each trace in a batch.
func unique(b *store.Batch) {
	known := map[trace.TraceID]bool{}
	b.Finished = slices.DeleteFunc(b.Finished, func(t *span.Trace) bool {
		was := known[t.ID]
		known[t.ID] = true
		return was
	})
}

// contents is the whole content of a store, except for its size.
func contents(t testing.TB, s store.Archive) map[string]any {
	t.Helper()
	counts := stats(t, s)
	counts.Bytes = 0
	traces := list(t, s, store.Query{})
	writes, err := s.Writes(t.Context(), store.WriteQuery{})
	must(t, err)
	out := map[string]any{"list": traces, "writes": writes.Writes, "stats": counts}
	for _, sum := range traces {
		out["trace "+sum.ID.String()] = get(t, s, sum.ID)
		causes, err := s.Causes(t.Context(), store.Scope{}, sum.ID)
		must(t, err)
		out["causes "+sum.ID.String()] = causes
	}
	return out
}

func testAmendments(t *testing.T, open Open) {
	s, done := open(t), change(1, 2)
	early, late := amendment(done, "early"), amendment(done, "late")
	b := batch(1)
	b.Amendments = []*span.Trace{early}
	put(t, s, b)
	if _, err := s.Trace(t.Context(), store.Scope{}, done.ID); !errors.Is(err, store.ErrNotFound) ||
		stats(t, s).Traces != 0 {
		t.Errorf("an amendment alone is a trace: %v", err)
	}
	b = batch(2)
	b.Finished = []*span.Trace{done}
	put(t, s, b)
	b = batch(3)
	b.Amendments = []*span.Trace{late, early}
	put(t, s, b)
	want := *done
	want.Spans = append(slices.Clone(done.Spans), early.Spans[0], late.Spans[0])
	got := get(t, s, done.ID)
	if d := diff(&want, got.Trace); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got.Spans != 4 || got.Revision != 2 {
		t.Errorf("summary is %+v", got.Summary)
	}
}
