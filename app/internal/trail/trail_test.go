// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// ids returns the audit IDs of the requests.
func ids(list []*observation.Write) []string {
	var out []string
	for _, q := range list {
		out = append(out, q.AuditID)
	}
	return out
}

// TestWaiting: a request waits for its object, by its UID or by its name.
func TestWaiting(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 10)
	if got := w.Waiting(web); got != nil {
		t.Errorf("got %v without a request", ids(got))
	}
	w.Wait(index.Subject{UID: "uid"}, request(web, "patch", 12))
	w.Wait(index.SubjectOf(web), request(web, "patch", 11, nameless))
	w.Wait(index.Subject{UID: "other"}, request(web, "patch", 13))
	w.turnWaiting()
	w.Wait(index.Subject{UID: "uid"}, request(web, "patch", 14))
	if diff := cmp.Diff([]string{"patch-12", "patch-11", "patch-14"}, ids(w.Waiting(web))); diff != "" {
		t.Errorf("both generations: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"patch-11"}, ids(w.Waiting(web))); diff != "" {
		t.Errorf("a name waits for the next object of it, too: -want +got:\n%s", diff)
	}
}

// TestWaitingBound: the subjects of waiting requests are bounded. Dropped requests are counted.
func TestWaitingBound(t *testing.T) {
	w := newWorld()
	const n = 2 * MaxWaiting
	for i := range n {
		uid := types.UID(fmt.Sprint(i))
		w.Wait(index.Subject{UID: uid}, sent(string(uid), "patch"))
	}
	waiting, _, _ := w.Size()
	if waiting > MaxWaiting || waiting < MaxWaiting/2 {
		t.Errorf("%d subjects wait, want at most %d and at least half of them", waiting, MaxWaiting)
	}
	if got := w.Stats().Unmatched; got != uint64(n-waiting) {
		t.Errorf("counted %d unmatched requests, want %d", got, n-waiting)
	}
	if got := w.Waiting(&change.Timeline{}); got != nil {
		t.Errorf("got %v for an object without a UID", ids(got))
	}
}

// TestWaitingWritesBound: the waiting requests of one object are bounded. The oldest one goes first.
func TestWaitingWritesBound(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 1)
	const more = 5
	for i := range uint64(maxWrites + more) {
		w.Wait(index.SubjectOf(web), request(web, "patch", 10+i, nameless))
	}
	w.Wait(index.SubjectOf(web), request(web, "patch", 9, nameless)) // too old
	got := w.Waiting(web)
	if len(got) != maxWrites || got[0].AuditID != "patch-15" {
		t.Errorf("%d requests wait, from %s on; want %d from patch-15 on", len(got), got[0].AuditID, maxWrites)
	}
	if got := w.Stats().Dropped; got != more {
		t.Errorf("counted %d dropped requests, want %d", got, more)
	}
}

// TestAge: unused data lives for two generations.
func TestAge(t *testing.T) {
	w := newWorld()
	w.Age(at(0))
	w.Wait(index.Subject{UID: "uid"}, sent("a", "patch"))
	w.Sight(sent("a", "patch"))
	for _, tc := range []struct {
		second             float64
		waiting, sightings int
	}{{119, 1, 1}, {120, 1, 1}, {239, 1, 1}, {240, 0, 0}} {
		w.Age(at(tc.second))
		if waiting, _, sightings := w.Size(); waiting != tc.waiting || sightings != tc.sightings {
			t.Errorf("second %g: %d waiting and %d digests, want %d and %d",
				tc.second, waiting, sightings, tc.waiting, tc.sightings)
		}
	}
	if got := w.Stats().Unmatched; got != 1 {
		t.Errorf("counted %d unmatched requests, want 1", got)
	}
}

// TestAttach: the requests of an object are in order of time, once each, in any order of arrival.
func TestAttach(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld()
		web := w.put("uid", 10)
		rnd := rand.New(rand.NewPCG(seed, 0))
		for range 2 {
			for _, i := range rnd.Perm(5) {
				w.attach(web, "patch", uint64(20+i))
			}
		}
		want := []string{"patch-20", "patch-21", "patch-22", "patch-23", "patch-24"}
		if diff := cmp.Diff(want, ids(web.Audits.List)); diff != "" {
			t.Errorf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}

// TestAttachBound: at the bound the oldest request goes. Each version makes room for one more.
func TestAttachBound(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 1, 2)
	for i := range uint64(MaxLoose + 5) {
		w.attach(web, "patch", 10+i)
	}
	list := web.Audits.List
	if got, want := len(list), MaxLoose+2; got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
	if got, want := list[0].AuditID, "patch-13"; got != want {
		t.Errorf("the oldest request is %s, want %s", got, want)
	}
	if got := w.Stats().Dropped; got != 3 {
		t.Errorf("counted %d dropped requests, want 3", got)
	}
}

// TestAddWrite: of two events about one request, the more complete one stays.
func TestAddWrite(t *testing.T) {
	full := func(q *observation.Write) { q.ResourceVersion, q.UID = 7, "uid" }
	identified := func(q *observation.Write) { q.UID = "uid" }
	cases := map[string]struct {
		reason        string
		first, second []func(*observation.Write)
		want          int // the kept one
	}{
		"equal":          {"nothing is new", nil, nil, 1},
		"version":        {"the response is new", nil, []func(*observation.Write){full}, 2},
		"version before": {"the response is known", []func(*observation.Write){full}, nil, 1},
		"UID":            {"the UID is new", nil, []func(*observation.Write){identified}, 2},
		"UID before": {"the UID is known", []func(*observation.Write){identified},
			[]func(*observation.Write){identified}, 1},
		"authentic": {"the sender is known", []func(*observation.Write){forged, full}, nil, 2},
		"forged":    {"a forged event replaces no other one", nil, []func(*observation.Write){forged, full}, 1},
		"forged, completed": {"both events are forged", []func(*observation.Write){forged},
			[]func(*observation.Write){forged, full}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			both := []*observation.Write{sent("a", "patch", tc.first...), sent("a", "patch", tc.second...)}
			list := addWrite(addWrite(nil, both[0]), both[1])
			if len(list) != 1 || list[0] != both[tc.want-1] {
				t.Errorf("%s: got %d requests, want event %d alone", tc.reason, len(list), tc.want)
			}
		})
	}
}

// TestCompareWrites: the start, the end and the ID order requests, in this order.
func TestCompareWrites(t *testing.T) {
	q := func(id string, start, end float64) *observation.Write {
		return &observation.Write{AuditID: id, Start: at(start), End: at(end)}
	}
	ordered := []*observation.Write{q("b", 1, 5), q("a", 2, 3), q("c", 2, 3), q("a", 2, 4), q("a", 3, 3)}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := CompareWrites(a, b) < 0, i < j; got != want {
				t.Errorf("%d before %d: %t, want %t", i, j, got, want)
			}
		}
	}
}

// TestDoubtful: only requests have joins to discard.
func TestDoubtful(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 10, 12)
	if Doubt(web) {
		t.Error("an object without requests has joins")
	}
	w.attach(web, "patch", 12)
	w.Audited(write(web, 12))
	if !Doubt(web) || web.Audits.Joined != nil {
		t.Error("the joins were not discarded")
	}
}
