// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// testVersions checks each rule of the merge, in both orders.
func testVersions(t *testing.T, open Open) {
	done := change(1, 4)
	poor, rich := without(unfinish(done), 2), unfinish(done)
	other := without(change(1, 4), 2)
	other.Outcome, other.Reason = span.Failed, "other"
	renamed := *other.Spans[1]
	renamed.Message = "other"
	extra := *done.Spans[3]
	extra.ID = trace.SpanID{77}
	other.Spans = []*span.Span{other.Spans[0], &renamed, &extra}
	both := *done
	both.Spans = append(slices.Clone(done.Spans), &extra)

	cases := map[string]struct {
		reason      string
		first, then func(*store.Batch)
		want        *span.Trace
		open        bool
	}{
		"open, then richer": {
			reason: "the newer version counts",
			first:  opens(poor),
			then:   opens(rich),
			want:   rich,
			open:   true,
		},
		"open, then poorer": {
			reason: "the newer version replaces all spans",
			first:  opens(rich),
			then:   opens(poor),
			want:   poor,
			open:   true,
		},
		"open, then finished": {
			reason: "a finished trace replaces the open one", first: opens(rich), then: finishes(done), want: done,
		},
		"finished, then open": {
			reason: "a finished trace does not open again",
			first:  finishes(done),
			then:   opens(rich),
			want:   done,
		},
		"finished twice": {
			reason: "no span is lost, and the first version of each counts",
			first:  finishes(done),
			then:   finishes(other),
			want:   &both,
		},
		"open, then withdrawn": {reason: "it is no trace", first: opens(rich), then: withdraws(done.ID)},
		"withdrawn, then open": {
			reason: "it is a trace again",
			first:  withdraws(done.ID),
			then:   opens(rich),
			want:   rich,
			open:   true,
		},
		"withdrawn, then finished": {
			reason: "it is a trace again",
			first:  withdraws(done.ID),
			then:   finishes(done),
			want:   done,
		},
		"finished, then withdrawn": {
			reason: "a finished trace stays",
			first:  finishes(done),
			then:   withdraws(done.ID),
			want:   done,
		},
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
				got, err := s.Trace(t.Context(), done.ID)
				if tc.want == nil {
					if !errors.Is(err, store.ErrNotFound) || stats(t, s).Traces != 0 ||
						len(list(t, s, store.Query{})) != 0 {
						t.Errorf("still there: %v, %v", got, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if d := diff(tc.want, got.Trace); d != "" || got.Open != tc.open {
					t.Errorf("open %v (-want +got):\n%s", got.Open, d)
				}
			})
		}
	}
}

func opens(t *span.Trace) func(*store.Batch) {
	return func(b *store.Batch) { b.Open = append(b.Open, t) }
}

func finishes(t *span.Trace) func(*store.Batch) {
	return func(b *store.Batch) { b.Finished = append(b.Finished, t) }
}

func withdraws(id trace.TraceID) func(*store.Batch) {
	return func(b *store.Batch) { b.Withdrawn = append(b.Withdrawn, id) }
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
			switch part := without(whole, random.IntN(2)); random.IntN(5) {
			case 0, 1:
				b.Open = append(b.Open, unfinish(part))
			case 2:
				b.Withdrawn = append(b.Withdrawn, whole.ID)
			case 3:
				if i > length/2 {
					b.Finished = append(b.Finished, part)
				}
			case 4:
				b.Amendments = append(b.Amendments, amendment(whole, number(random.IntN(3))))
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

// unique keeps one entry about each trace in a batch.
func unique(b *store.Batch) {
	known := map[trace.TraceID]bool{}
	again := func(id trace.TraceID) bool {
		was := known[id]
		known[id] = true
		return was
	}
	for _, traces := range []*[]*span.Trace{&b.Finished, &b.Open} {
		*traces = slices.DeleteFunc(*traces, func(t *span.Trace) bool { return again(t.ID) })
	}
	b.Withdrawn = slices.DeleteFunc(b.Withdrawn, again)
}

// contents is the whole content of a store, except for its size.
func contents(t testing.TB, s store.Store) map[string]any {
	t.Helper()
	counts := stats(t, s)
	counts.Bytes = 0
	traces := list(t, s, store.Query{})
	writes, err := s.Writes(t.Context(), store.WriteQuery{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{"list": traces, "writes": writes.Writes, "stats": counts}
	for _, sum := range traces {
		out["trace "+sum.ID.String()] = get(t, s, sum.ID)
		causes, err := s.Causes(t.Context(), sum.ID)
		if err != nil {
			t.Fatal(err)
		}
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
	if _, err := s.Trace(t.Context(), done.ID); !errors.Is(err, store.ErrNotFound) || stats(t, s).Traces != 0 {
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

func testState(t *testing.T, open Open) {
	s := open(t)
	if _, err := s.State(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("absent state: %v", err)
	}
	for _, step := range []struct {
		revision int64
		state    map[string][]byte
	}{
		{1, map[string][]byte{"seen/pods": []byte("1"), "seen/nodes": {0, 255}, "see%_": {}, "open": []byte("x")}},
		{3, map[string][]byte{"seen/pods": []byte("3"), "open": nil}},
		{2, map[string][]byte{"seen/pods": []byte("2"), "open": []byte("late")}},
		{3, map[string][]byte{"seen/pods": []byte("3"), "open": nil}},
		{4, nil},
	} {
		b := batch(step.revision)
		b.State = step.state
		put(t, s, b)
	}
	for prefix, want := range map[string]map[string][]byte{
		"":      {"seen/pods": []byte("3"), "seen/nodes": {0, 255}, "see%_": {}},
		"seen/": {"seen/pods": []byte("3"), "seen/nodes": {0, 255}},
		"see%":  {"see%_": {}},
		"x":     {},
	} {
		got, err := s.States(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(want, got); d != "" {
			t.Errorf("states %q (-want +got):\n%s", prefix, d)
		}
	}
	if got, err := s.State(t.Context(), "seen/pods"); err != nil || string(got) != "3" {
		t.Errorf("got %q, %v", got, err)
	}
	names := slices.Sorted(maps.Keys(must(s.States(t.Context(), "see"))))
	if strings.Join(names, " ") != "see%_ seen/nodes seen/pods" {
		t.Errorf("names are %q", names)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
