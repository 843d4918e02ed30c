// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// places returns the resourceVersions of the first writes. A folded reconciliation is negative.
func places(recs []*change.Reconciliation) []int {
	var out []int
	for _, r := range recs {
		rv := int(r.First().RV)
		if r.Folded {
			rv = -rv
		}
		out = append(out, rv)
	}
	return out
}

// TestAdd: a reconciliation is found by its object, its trace and its parent.
func TestAdd(t *testing.T) {
	w := newWorld()
	web, db := w.put("web", 99, 10, 12, 14), w.put("db", 99, 11)
	first := w.change(web, 1, 10)
	child := w.change(db, 1, 11, func(r *change.Reconciliation) { r.Parent = first })
	second := w.change(web, 2, 12)
	label := w.change(web, 2, 14, instant)
	for name, tc := range map[string]struct {
		got  []*change.Reconciliation
		want []int
	}{
		"object":         {w.Of(web), []int{10, 12}},
		"UID":            {w.History("web"), []int{10, 12}},
		"other object":   {w.History("db"), []int{11}},
		"unknown object": {w.History("other"), nil},
		"instant":        {w.Instants("web"), []int{14}},
		"no instant":     {w.Instants("db"), nil},
		"trace":          {w.line(1).Reconciliations, []int{10, 11}},
		"other trace":    {w.line(2).Reconciliations, []int{12, 14}},
		"children":       {first.Children, []int{11}},
		"no children":    {child.Children, nil},
	} {
		if diff := cmp.Diff(tc.want, places(tc.got)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	if got := w.Current("web"); got != second {
		t.Errorf("current: got %v, want the second change", got)
	}
	if got := w.Current("other"); got != nil {
		t.Errorf("current: got %v of an unknown object", got)
	}
	if got := w.Instant("web"); got != label {
		t.Errorf("instant: got %v, want the label", got)
	}
	if got := w.Instant("db"); got != nil {
		t.Errorf("instant: got %v of an object without one", got)
	}
	if got := []uint64{w.line(1).First, w.line(2).First}; !slices.Equal(got, []uint64{10, 12}) {
		t.Errorf("first writes of the traces: got %v, want 10 and 12", got)
	}
}

// TestOrder: traces are in order of their first writes, and their requests in order of time.
func TestOrder(t *testing.T) {
	w := newWorld()
	web := w.put("web", 99, 10, 12, 14)
	w.change(web, 3, 10)
	w.change(web, 1, 14)
	w.change(web, 2, 12)
	q := func(second float64, n byte) *observation.Write {
		return &observation.Write{Start: at(second), TraceParent: context(n)}
	}
	w.line(1).Loose = []*observation.Write{q(9, 1), q(8, 2), q(8, 1)}
	w.Order()
	var got []trace.TraceID
	for _, l := range w.Ordered {
		got = append(got, l.ID)
	}
	if diff := cmp.Diff([]trace.TraceID{{3}, {2}, {1}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := []*observation.Write{q(8, 1), q(8, 2), q(9, 1)}
	if diff := cmp.Diff(want, w.line(1).Loose); diff != "" {
		t.Errorf("requests: -want +got:\n%s", diff)
	}
}

// TestCompareLineages: the first write and then the ID order lineages. nil comes last.
func TestCompareLineages(t *testing.T) {
	ordered := []*change.Lineage{
		{First: 1, ID: trace.TraceID{9}}, {First: 2, ID: trace.TraceID{1}}, {First: 2, ID: trace.TraceID{2}}, nil,
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := CompareLineages(a, b) < 0, i < j; got != want {
				t.Errorf("%d before %d: got %t", i, j, got)
			}
			if got, want := CompareLineages(a, b) == 0, i == j; got != want {
				t.Errorf("%d equal to %d: got %t", i, j, got)
			}
		}
	}
}

// TestRunLine: only a command has a lineage for requests.
func TestRunLine(t *testing.T) {
	w := newWorld()
	w.line(1).Run = &observation.Run{}
	w.line(2)
	for name, tc := range map[string]struct {
		reason  string
		context string
		want    *change.Lineage
	}{
		"command":   {"the context is that of a command", context(1), w.line(1)},
		"no run":    {"the trace has no command", context(2), nil},
		"unknown":   {"the trace is not known", context(3), nil},
		"none":      {"the request has no context", "", nil},
		"malformed": {"the context is not valid", "x", nil},
	} {
		q := &observation.Write{TraceParent: tc.context}
		if got := w.RunLine(q); got != tc.want {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
		if got := w.LineOf(&change.Write{Request: q}); got != tc.want {
			t.Errorf("%s: %s: got %v for its write", name, tc.reason, got)
		}
	}
	if got := w.LineOf(&change.Write{}); got != nil {
		t.Errorf("got %v for a write without a request", got)
	}
}

// TestRelated: healing traces follow the traces of the lost objects, in any depth.
func TestRelated(t *testing.T) {
	w := newWorld()
	web := w.put("web", 99, 10, 11, 12, 13)
	for n := range byte(4) {
		w.change(web, n+1, uint64(10+n))
	}
	w.line(2).Follows = []*change.Lineage{w.line(1)}
	w.line(3).Follows = []*change.Lineage{w.line(1), w.line(2)}
	w.line(4).Follows = []*change.Lineage{w.line(4)}
	w.Order()
	for name, tc := range map[string]struct {
		of   byte
		want []*change.Lineage
	}{
		"healed":  {1, []*change.Lineage{w.line(1), w.line(2), w.line(3)}},
		"healing": {2, []*change.Lineage{w.line(2), w.line(3)}},
		"last":    {3, []*change.Lineage{w.line(3)}},
		"circle":  {4, []*change.Lineage{w.line(4)}},
		"unknown": {5, nil},
	} {
		if got := w.Related(trace.TraceID{tc.of}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %d traces, want %d", name, len(got), len(tc.want))
		}
	}
}

// TestUnderWay: a write belongs to the newest change that had not ended before.
func TestUnderWay(t *testing.T) {
	replaced := func(r *change.Reconciliation) { r.Superseded = &change.Write{RV: 99} }
	cases := map[string]struct {
		reason string
		set    func(w *world) *change.Timeline
		rv     uint64
		want   uint64 // the first write; 0 means none
	}{
		"none": {"the object has no change", func(w *world) *change.Timeline { return w.put("web", 99, 10) }, 20, 0},
		"open": {"both changes go on", func(w *world) *change.Timeline {
			web := w.put("web", 99, 10, 12)
			w.change(web, 1, 10)
			w.change(web, 2, 12)
			return web
		}, 20, 12},
		"newest ended": {"the newest change was replaced", func(w *world) *change.Timeline {
			web := w.put("web", 99, 10, 12)
			w.change(web, 1, 10)
			w.change(web, 2, 12, replaced)
			return web
		}, 20, 10},
		"all ended": {"nothing goes on", func(w *world) *change.Timeline {
			web := w.put("web", 99, 10, 12)
			w.change(web, 1, 10, replaced)
			w.change(web, 2, 12, replaced)
			return web
		}, 20, 12},
		"converged before": {"the older change goes on", func(w *world) *change.Timeline {
			web := w.put("web", 12, 10, 12)
			w.change(web, 1, 10, func(r *change.Reconciliation) { r.Verb = history.Deleted })
			w.change(web, 2, 12)
			return web
		}, 13, 10},
		"converged after": {"the newest change went on until then", func(w *world) *change.Timeline {
			web := w.put("web", 14, 10, 12, 14)
			w.change(web, 1, 10)
			w.change(web, 2, 12)
			return web
		}, 14, 12},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, got := newWorld(), uint64(0)
			web := tc.set(w)
			if r := w.UnderWay(&change.Write{Timeline: web, RV: tc.rv}); r != nil {
				got = r.First().RV
			}
			if got != tc.want {
				t.Errorf("%s: got the change of %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
