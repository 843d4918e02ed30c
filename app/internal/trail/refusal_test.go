// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// refused returns a conflict that ended in that second.
func refused(second float64, edits ...func(*observation.Write)) *observation.Write {
	q := &observation.Write{
		AuditID: fmt.Sprint("refused-", second), Verb: "update", Code: 409, User: "jane",
		Start: at(second - 0.1), End: at(second),
	}
	for _, e := range edits {
		e(q)
	}
	return q
}

// TestSameRefusal: each field of a kind of refusal distinguishes it.
func TestSameRefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*observation.Write)
		same bool
	}{
		"time":        {func(q *observation.Write) { q.Start, q.End, q.AuditID = at(8), at(9), "b" }, true},
		"message":     {func(q *observation.Write) { q.Message = "x" }, true},
		"verb":        {func(q *observation.Write) { q.Verb = "delete" }, false},
		"subresource": {func(q *observation.Write) { q.Subresource = "status" }, false},
		"code":        {func(q *observation.Write) { q.Code = 403 }, false},
		"reason":      {func(q *observation.Write) { q.Reason = "Forbidden" }, false},
		"user":        {from("joe"), false},
		"manager":     {func(q *observation.Write) { q.Manager = "kubectl" }, false},
	} {
		if got := SameRefusal(refused(1), refused(1, tc.edit)); got != tc.same {
			t.Errorf("another %s: the same kind %t, want %t", name, got, tc.same)
		}
	}
}

// TestRefuse: the first requests of a kind are kept. Further ones are counted.
func TestRefuse(t *testing.T) {
	w, id := newWorld(), index.Subject{UID: "uid"}
	for _, second := range []float64{3, 1, 2, 6, 5, 4} {
		w.Refuse(id, refused(second))
	}
	w.Refuse(id, refused(7, from("joe")))
	of := w.RefusalsOf(id)
	type kind struct {
		IDs     []string
		Repeats int
		Last    string
	}
	var got []kind
	for _, k := range of.Kinds {
		got = append(got, kind{ids(k.Writes), k.Repeats, k.Last.Sub(epoch).String()})
	}
	want := []kind{
		{[]string{"refused-1", "refused-2", "refused-3", "refused-4"}, 2, "6s"},
		{[]string{"refused-7"}, 0, "7s"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := of.Last; !got.Equal(at(7)) {
		t.Errorf("last at %s, want 7s", got.Sub(epoch))
	}
	if got := w.Stats().Repeated; got != 2 {
		t.Errorf("counted %d repeated requests, want 2", got)
	}
	if w.RefusalsOf(index.Subject{UID: "other"}) != nil {
		t.Error("another object has refusals")
	}
}

// TestRefuseHandedOut: after the handout, the first requests are returned for their trace, and further ones
// are counted.
func TestRefuseHandedOut(t *testing.T) {
	w, id := newWorld(), index.Subject{UID: "uid"}
	w.Refuse(id, refused(1))
	kind := w.RefusalsOf(id).Kinds[0]
	kind.HandedOut = true
	for second := 2.0; second <= 7; second++ {
		again, _ := w.Refuse(id, refused(second))
		if returned := again == kind; returned != (second <= maxAlike) {
			t.Errorf("request %g: returned %t", second, returned)
		}
	}
	if got := kind.Further(); got == nil || got.AuditID != "refused-5" || kind.Repeats != 3 || !kind.Last.Equal(at(7)) {
		t.Errorf("got %v, %d repeats and the last one at %s; want refused-5, 3 and 7s", got, kind.Repeats,
			kind.Last.Sub(epoch))
	}
}

// TestRefuseBounds: the kinds of one object and the objects are bounded.
func TestRefuseBounds(t *testing.T) {
	w, id := newWorld(), index.Subject{UID: "uid"}
	for i := range maxRefusals + 3 {
		if _, dropped := w.Refuse(id, refused(float64(i+1), from(fmt.Sprint(i)))); dropped {
			t.Error("another object had to go")
		}
	}
	if got := len(w.RefusalsOf(id).Kinds); got != maxRefusals {
		t.Errorf("%d kinds of refusals, want %d", got, maxRefusals)
	}
	if got := w.Stats().Dropped; got != 3 {
		t.Errorf("counted %d dropped requests, want 3", got)
	}

	w = newWorld()
	subject := func(i int) index.Subject { return index.Subject{UID: types.UID(fmt.Sprint(i))} }
	for i := range MaxRefused {
		w.Refuse(subject(i), refused(float64(MaxRefused-i)))
	}
	if _, dropped := w.Refuse(subject(MaxRefused), refused(MaxRefused)); !dropped {
		t.Error("no object had to go at the bound")
	}
	if _, got, _ := w.Size(); got != MaxRefused-MaxRefused/8+1 {
		t.Errorf("%d objects, want %d", got, MaxRefused-MaxRefused/8+1)
	}
	if w.RefusalsOf(subject(0)) == nil || w.RefusalsOf(subject(MaxRefused-1)) != nil {
		t.Error("want the newest kept and the oldest dropped")
	}
	if got := w.Stats().Dropped; got != MaxRefused/8 {
		t.Errorf("counted %d dropped refusals, want %d", got, MaxRefused/8)
	}
	if got := len(slices.Collect(w.Refused())); got != MaxRefused-MaxRefused/8+1 {
		t.Errorf("yielded %d objects", got)
	}
}

// TestForgetRefusals: a refusal goes with its traces, or with its age without one.
func TestForgetRefusals(t *testing.T) {
	type traces struct {
		all, out int
		alone    bool
	}
	cases := map[string]struct {
		reason        string
		old           float64 // the refusal is of second 5
		of            traces
		changed, left bool
		handedOut     bool
		passed        uint64
	}{
		"new":          {"it may get a trace", 5, traces{}, false, true, false, 0},
		"old":          {"it got no trace", 6, traces{}, true, false, false, 1},
		"open":         {"its trace is open", 6, traces{all: 1}, false, true, false, 0},
		"one of two":   {"one of its traces is open", 6, traces{all: 2, out: 1}, false, true, false, 0},
		"all":          {"its traces were handed out", 5, traces{all: 2, out: 2}, true, false, false, 0},
		"alone":        {"its repeats are to be known", 5, traces{all: 1, out: 1, alone: true}, true, true, true, 0},
		"alone, old":   {"no repeat is expected", 6, traces{all: 1, out: 1, alone: true}, true, false, true, 0},
		"alone, other": {"its own trace was handed out", 5, traces{all: 2, out: 1, alone: true}, true, true, true, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, id := newWorld(), index.Subject{UID: "uid"}
			w.Refuse(id, refused(5))
			kind := w.RefusalsOf(id).Kinds[0]
			changed, left := w.ForgetRefusals(id, at(tc.old).Add(maxAge), func(*Refusal) (int, int, bool) {
				return tc.of.all, tc.of.out, tc.of.alone
			}, nil)
			if changed != tc.changed || left != tc.left || kind.HandedOut != tc.handedOut {
				t.Errorf("%s: changed %t, left %t, handed out %t; want %t, %t, %t",
					tc.reason, changed, left, kind.HandedOut, tc.changed, tc.left, tc.handedOut)
			}
			if (w.RefusalsOf(id) != nil) != tc.left {
				t.Errorf("%s: the refusals are there: %t", tc.reason, !tc.left)
			}
			if got := w.Stats().Passed; got != tc.passed {
				t.Errorf("%s: counted %d passed requests, want %d", tc.reason, got, tc.passed)
			}
		})
	}
	if changed, left := newWorld().ForgetRefusals(index.Subject{}, at(1), nil, nil); !changed || left {
		t.Error("an object without refusals has some left")
	}
}

// TestForgetRefusalsTwice: a second call changes nothing.
func TestForgetRefusalsTwice(t *testing.T) {
	w, id := newWorld(), index.Subject{UID: "uid"}
	w.Refuse(id, refused(5))
	of := func(*Refusal) (int, int, bool) { return 1, 1, true }
	w.ForgetRefusals(id, at(5), of, nil)
	if changed, left := w.ForgetRefusals(id, at(5), of, nil); changed || !left {
		t.Errorf("changed %t, left %t; want false, true", changed, left)
	}
}

// TestReportRefusals: the number of further requests is reported each hour and at the end.
func TestReportRefusals(t *testing.T) {
	w, id := newWorld(), index.Subject{UID: "uid"}
	of := func(*Refusal) (int, int, bool) { return 1, 1, true }
	var got []int
	report := func(r *Refusal) { got = append(got, r.Repeats) }
	forget := func(second float64) (left bool) {
		_, left = w.ForgetRefusals(id, at(second), of, report)
		return left
	}
	w.Refuse(id, refused(1))
	forget(1)
	const hour = 3600.0
	for second := 60.0; second <= 2*hour; second += 60 {
		w.Refuse(id, refused(second))
		if !forget(second) {
			t.Fatalf("forgotten at second %g", second)
		}
	}
	if forget(2*hour + 121) {
		t.Error("not forgotten at the end")
	}
	// The first four are spans: 1 s, 1 min, 2 min and 3 min.
	if diff := cmp.Diff([]int{61, 56}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
