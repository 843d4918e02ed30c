// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// second returns the time that many seconds after Epoch.
func second(n int) time.Time { return spantest.Epoch.Add(time.Duration(n) * time.Second) }

func testFilters(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	for n := 1; n <= 4; n++ {
		b.Finished = append(b.Finished, change(n, n))
	}
	b.Finished[1].Outcome = span.Failed
	root := b.Finished[2].Root()
	root.Attributes = append(root.Attributes, span.KeyReason.String("paused"),
		span.KeyEarliest.String(second(1).Format(time.RFC3339)))
	for _, s := range b.Finished[2].Spans {
		s.Object.Namespace = "prod"
	}
	b.Finished = append(b.Finished, unfinish(change(5, 2)))
	put(t, s, b)
	if row := list(t, s, store.Query{IDs: []trace.TraceID{b.Finished[2].ID}})[0]; !row.Earliest.Equal(second(1)) {
		t.Errorf("the earliest possible start is %s, want %s", row.Earliest, second(1))
	}
	kind := func(group, kind string) object.Ref { return object.Ref{Kind: object.Kind{Group: group, Kind: kind}} }

	for name, tc := range map[string]struct {
		reason string
		query  store.Query
		want   string
	}{
		"all":      {reason: "newest first", want: "5 4 3 2 1"},
		"limit":    {query: store.Query{Limit: 2}, want: "5 4"},
		"since":    {reason: "from that moment on", query: store.Query{Since: second(3)}, want: "5 4 3"},
		"until":    {reason: "before that moment", query: store.Query{Until: second(3)}, want: "2 1"},
		"interval": {query: store.Query{Since: second(2), Until: second(4)}, want: "3 2"},
		"failed":   {query: store.Query{Outcomes: []span.Outcome{span.Failed}}, want: "2"},
		"outcomes": {query: store.Query{Outcomes: []span.Outcome{span.Failed, span.Unfinished}}, want: "5 2"},
		"open":     {reason: "an archive has none", query: store.Query{Open: true}, want: ""},
		"category": {query: store.Query{Categories: []string{"crash_loop", "paused"}}, want: "3"},
		"slow": {
			reason: "an unfinished trace has its length of that moment",
			query:  store.Query{Slower: 300 * time.Millisecond},
			want:   "5 4 3",
		},
		"namespace": {query: store.Query{Object: object.Ref{Namespace: "prod"}}, want: "3"},
		"kind": {
			reason: "anywhere in the trace",
			query:  store.Query{Object: kind("", "Pod")},
			want:   "5 4 3 2",
		},
		"group and kind": {query: store.Query{Object: kind("apps", "Deployment"), Limit: 1}, want: "5"},
		"other group":    {query: store.Query{Object: kind("batch", "Deployment")}, want: ""},
		"name":           {query: store.Query{Object: object.Ref{Name: "change-000004-000001"}}, want: "4"},
		"UID":            {query: store.Query{Object: object.Ref{UID: types.UID("uid-change-000004")}}, want: "4"},
		"one object": {
			reason: "all on the same object",
			query:  store.Query{Object: object.Ref{Kind: object.Kind{Kind: "Pod"}, Name: "change-000004"}},
			want:   "",
		},
		"several": {
			query: store.Query{
				Object: object.Ref{Namespace: "default"},
				Since:  second(2),
				Slower: time.Millisecond,
				Limit:  2,
			},
			want: "5 4",
		},
		"version": {
			reason: "it does not count",
			query:  store.Query{Object: object.Ref{Kind: object.Kind{Kind: "Pod", Version: "v9"}}, Limit: 1},
			want:   "5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			if got := names(list(t, s, tc.query)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func testPages(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	for n := 1; n <= 25; n++ {
		c := change(n, 2)
		if n%2 == 0 { // a tie with the one before
			for _, s := range c.Spans {
				s.Start.Time = second(n - 1)
			}
		}
		b.Finished = append(b.Finished, c)
	}
	put(t, s, b)
	whole := list(t, s, store.Query{Limit: 100})
	for i := 1; i < len(whole); i++ {
		a, b := whole[i-1], whole[i]
		if a.Start.Before(b.Start) || a.Start.Equal(b.Start) && string(a.ID[:]) <= string(b.ID[:]) {
			t.Errorf("%s %s comes before %s %s", a.Start, a.ID, b.Start, b.ID)
		}
	}
	for _, limit := range []int{1, 7, 25, 100} {
		var got []store.Summary
		q := store.Query{Limit: limit, Object: object.Ref{Namespace: "default"}}
		for pages := 1; ; pages++ {
			page, err := s.List(t.Context(), q)
			must(t, err)
			got = append(got, page.Traces...)
			if q.After = page.Next; page.Next == "" {
				break
			}
			if pages > len(whole) {
				t.Fatal("the pages have no end")
			}
		}
		if d := diff(whole, got); d != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, d)
		}
	}
	for _, bad := range []store.Cursor{
		"x",
		"!",
		store.NewCursor(1, []byte("short")),
		store.NewCursor(1, make([]byte, 99)),
	} {
		_, listing := s.List(t.Context(), store.Query{After: bad})
		_, writes := s.Writes(t.Context(), store.WriteQuery{After: bad})
		if !errors.Is(listing, store.ErrCursor) || !errors.Is(writes, store.ErrCursor) {
			t.Errorf("cursor %q: %v, %v", bad, listing, writes)
		}
	}
	if got := store.PageLength(1 << 40); got != store.MaxPage {
		t.Errorf("a page may have %d traces", got)
	}
}

// testPagesWhileWriting reads all pages while new traces and amendments come.
func testPagesWhileWriting(t *testing.T, open Open) {
	const before = 60
	s, b := open(t), batch(1)
	for n := 1; n <= before; n++ {
		b.Finished = append(b.Finished, change(n, 2))
	}
	put(t, s, b)
	seen := map[trace.TraceID]int{}
	q := store.Query{Limit: 7}
	for n := before + 1; ; n++ {
		page, err := s.List(t.Context(), q)
		must(t, err)
		for _, sum := range page.Traces {
			seen[sum.ID]++
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
		w := batch(int64(n))
		w.Finished = []*span.Trace{change(n, 2)}
		w.Amendments = []*span.Trace{amendment(change(1+n%before, 2), "late")}
		put(t, s, w)
	}
	for n := 1; n <= before; n++ {
		if id := change(n, 2).ID; seen[id] != 1 {
			t.Errorf("change %d came %d times", n, seen[id])
		}
	}
}
