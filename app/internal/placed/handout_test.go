// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestHandedOut: a trace was handed out if it was taken, or if only its name is left.
func TestHandedOut(t *testing.T) {
	w := newWorld()
	web := w.put("web", 99, 10, 11, 12)
	for n := range byte(3) {
		w.change(web, n+1, uint64(10+n))
	}
	w.taken[trace.TraceID{2}] = change.Taken{At: at(30)}
	w.line(3).Old = true
	w.Order()
	if got, want := w.Untaken(), []*change.Lineage{w.line(1)}; !slices.Equal(got, want) {
		t.Errorf("got %d traces, want the first one alone", len(got))
	}
	if got, known := w.Taken(trace.TraceID{2}); !known || !got.At.Equal(at(30)) {
		t.Errorf("got %+v, %t; want the time of the handover", got, known)
	}
	if _, known := w.Taken(trace.TraceID{1}); known {
		t.Error("a trace is known that was not handed out")
	}
}

// TestPending: a write is pending until a trace with it was handed out.
func TestPending(t *testing.T) {
	// two is a change with writes at 10 and 12. The given versions were handed out.
	two := func(handedOut ...uint64) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			web := w.put("web", 99, 10, 12)
			r := w.change(web, 1, 10)
			r.Wrote(&change.Write{Timeline: web, RV: 12, Version: web.At(12), Part: change.Desired})
			for _, rv := range handedOut {
				web.At(rv).HandedOut = true
			}
			return r
		}
	}
	// noted is a change that was handed out, with a note at 12.
	noted := func(edit func(*change.Write)) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			web := w.put("web", 99, 10, 12)
			r := w.change(web, 1, 10)
			web.At(10).HandedOut = true
			note := &change.Write{Timeline: web, RV: 12, Version: web.At(12), Part: change.Observed}
			edit(note)
			r.Note(note)
			return r
		}
	}
	// commanded is a change by a command of the lineage n. Only the request shows it.
	commanded := func(n byte, stored, taken bool) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			web := w.put("web", 99, 10)
			r := w.change(web, 1, 10)
			r.Last().Request = &observation.Write{TraceParent: context(n)}
			w.line(n).Run = &observation.Run{}
			if !stored {
				r.Last().Version = nil
			}
			if taken {
				w.taken[trace.TraceID{1}] = change.Taken{}
			}
			return r
		}
	}
	cases := map[string]struct {
		reason    string
		set       func(w *world) *change.Reconciliation
		some, all bool
		pending   []uint64
	}{
		"new":    {"nothing was handed out", two(), true, true, []uint64{10, 12}},
		"first":  {"the second write came late", two(10), true, false, []uint64{12}},
		"both":   {"all was handed out", two(10, 12), false, false, nil},
		"status": {"a status is not handed out late", noted(func(*change.Write) {}), false, false, nil},
		"desired note": {"desired state is", noted(func(w *change.Write) { w.Part = change.Desired }), true, false,
			[]uint64{12}},
		"metadata note": {"metadata is", noted(func(w *change.Write) { w.Changed.Parts = kind.Metadata }), true,
			false, []uint64{12}},
		"old note": {"it was handed out", noted(func(w *change.Write) {
			w.Part, w.Version.HandedOut = change.Desired, true
		}), false, false, nil},
		"request":        {"only its request shows it", commanded(1, false, false), false, true, nil},
		"own command":    {"its trace was not handed out", commanded(1, true, false), true, true, []uint64{10}},
		"command, taken": {"a trace has all requests of its command", commanded(1, true, true), false, false, nil},
		"other command": {"the trace of that command does not have it", commanded(2, true, true), true, true,
			[]uint64{10}},
		"folded": {"the forgotten writes were handed out", func(w *world) *change.Reconciliation {
			r := w.Of(w.folded("web", 1))[0]
			return r
		}, false, false, nil},
		"folded, late": {"a late write belongs to it", func(w *world) *change.Reconciliation {
			r := w.Of(w.folded("web", 1))[0]
			r.Wrote(&change.Write{Timeline: r.Timeline, RV: 20, Version: r.Timeline.At(20)})
			return r
		}, true, false, []uint64{20}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := tc.set(w)
			if some, all := w.Pending(r); some != tc.some || all != tc.all {
				t.Errorf("%s: some %t and all %t, want %t and %t", tc.reason, some, all, tc.some, tc.all)
			}
			var got []uint64
			for _, p := range w.PendingWrites(r) {
				got = append(got, p.RV)
			}
			if diff := cmp.Diff(tc.pending, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestElsewhere: a change may be handed out as a part of another trace.
func TestElsewhere(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    func(w *world, r *change.Reconciliation)
		want   bool
	}{
		"new":     {"nothing was handed out", func(*world, *change.Reconciliation) {}, false},
		"written": {"its write was handed out", func(_ *world, r *change.Reconciliation) { r.First().HandOut() }, true},
		"own": {"its own trace was handed out", func(w *world, r *change.Reconciliation) {
			r.First().HandOut()
			w.taken[r.Lineage.ID] = change.Taken{}
		}, false},
		"late": {"a later write is pending", func(w *world, r *change.Reconciliation) {
			r.First().HandOut()
			w.put("web", 99, 12)
			r.Wrote(&change.Write{Timeline: r.Timeline, RV: 12, Version: r.Timeline.At(12)})
		}, false},
		"request": {"only its request shows it", func(_ *world, r *change.Reconciliation) { r.First().Version = nil },
			false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := w.change(w.put("web", 99, 10), 1, 10)
			tc.set(w, r)
			if got := w.Elsewhere(r); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// TestHandedOutBefore: a trace in the making leaves out the writes of other traces. A trace that was handed out
// keeps its own.
func TestHandedOutBefore(t *testing.T) {
	cases := map[string]struct {
		reason          string
		handedOut, line bool
		want            bool // of the write at 10
	}{
		"new":   {"nothing was handed out", false, false, false},
		"other": {"another trace has the write", true, false, true},
		"own":   {"the trace of the change has the write", true, true, false},
		"late":  {"the whole change came after its trace", false, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			web := w.put("web", 99, 10, 12)
			r := w.change(web, 1, 10)
			web.At(10).HandedOut = tc.handedOut
			if tc.line {
				w.taken[r.Lineage.ID] = change.Taken{}
			}
			if got := w.HandedOutBefore(r)(r.First()); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
	w := newWorld()
	web := w.put("web", 99, 10, 12)
	r := w.change(web, 1, 10)
	w.taken[r.Lineage.ID] = change.Taken{}
	before := w.HandedOutBefore(r)
	web.At(12).HandedOut = true
	if !before(&change.Write{Timeline: web, RV: 12, Version: web.At(12)}) {
		t.Error("a late change has a note that another trace has")
	}
}

// TestLate: late changes are those with pending writes in a trace that was handed out.
func TestLate(t *testing.T) {
	w := newWorld()
	web, db, cache := w.put("web", 99, 10, 12), w.put("db", 99, 11), w.folded("cache", 3)
	handedOut := w.change(web, 1, 10)
	handedOut.First().HandOut()
	late := w.change(web, 1, 12)
	open := w.change(db, 2, 11)
	forgotten := w.Of(cache)[0]
	w.taken[trace.TraceID{1}] = change.Taken{}
	w.Order()
	if got, want := w.Late(), []*change.Reconciliation{late}; !slices.Equal(got, want) {
		t.Errorf("got %v, want 12", places(got))
	}
	forgotten.Wrote(&change.Write{Timeline: cache, RV: 20, Verb: history.Updated, Version: cache.At(20)})
	if got, want := w.Late(), []*change.Reconciliation{forgotten, late}; !slices.Equal(got, want) {
		t.Errorf("got %v, want the forgotten one and 12", places(got))
	}
	w.taken[trace.TraceID{2}] = change.Taken{}
	if got, want := w.Late(), []*change.Reconciliation{forgotten, late, open}; !slices.Equal(got, want) {
		t.Errorf("got %v, want all in order of their traces", places(got))
	}
}
