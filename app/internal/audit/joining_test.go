// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// record is an object that was created at resourceVersion 10 and updated at 20, a second later.
func record() *history.Record {
	var r history.Record
	shared := history.NewShared()
	for i, rv := range []uint64{10, 20} {
		s := &observation.State{Created: epoch, Generation: int64(i + 1)}
		s.UID, s.Name, s.ResourceVersion = "uid", "web", rv
		r.State(
			&observation.Observation{State: s, Seen: epoch.Add(time.Duration(i)*time.Second + 100*time.Millisecond)},
			shared,
		)
	}
	return &r
}

// request is a request of the audit log that took 10 ms, so long after the epoch.
func request(verb string, code int, rv uint64, after time.Duration) *observation.Write {
	w := &observation.Write{
		Verb:  verb,
		Code:  code,
		Start: epoch.Add(after),
		End:   epoch.Add(after + 10*time.Millisecond),
	}
	w.UID, w.ResourceVersion, w.AuditID = "uid", rv, verb+after.String()
	return w
}

// TestByVersion: a response with a resourceVersion names its write, unless it cannot have made it.
func TestByVersion(t *testing.T) {
	r := record()
	j := &Joins{Version: map[uint64]Joined{}}
	create, update := request("create", 201, 10, 50*time.Millisecond), request("update", 200, 20, time.Second)
	late := request("update", 200, 20, time.Hour)
	for _, q := range []*observation.Write{late, create, update} {
		j.ByVersion(r, Slots(r), q)
	}
	if j.Version[10].Write != create || j.Version[20].Write != update {
		t.Errorf("got %+v, want the creation at 10 and the update at 20", j.Version)
	}
	between := request("patch", 200, 15, 500*time.Millisecond)
	j.ByVersion(r, Slots(r), between)
	if len(j.Missed) != 1 || j.Missed[0].Write != between {
		t.Errorf("missed: got %+v, want the write between two versions", j.Missed)
	}
}

// TestByOrder: a request without a resourceVersion belongs to the only write that it can have made. Of
// several it makes none.
func TestByOrder(t *testing.T) {
	r := record()
	j := &Joins{Version: map[uint64]Joined{}}
	update := request("update", 200, 0, time.Second)
	j.ByOrder(Slots(r), []*observation.Write{update})
	if got := j.Version[20]; got.Write != update || got.How != byUID {
		t.Errorf("got %+v, want the update by its UID", got)
	}
	j = &Joins{Version: map[uint64]Joined{}}
	j.ByOrder(Slots(r), []*observation.Write{update, request("patch", 200, 0, time.Second)})
	if len(j.Version) > 0 || j.Ambiguous == 0 {
		t.Errorf("got %+v and %d ambiguous; two requests can have made one write", j.Version, j.Ambiguous)
	}
}

// TestHurried: a deletion of a Pod without a grace period stores a version and removes the Pod, by one
// request. With a finalizer the version is a separate write.
func TestHurried(t *testing.T) {
	cases := map[string]struct {
		reason     string
		edit       func(*observation.State)
		slots      int
		byDeletion bool
	}{
		"at once": {"one request made both", func(*observation.State) {}, 2, true},
		"finalizers": {
			"the removal comes later", func(s *observation.State) { s.Finalizers = []string{"a/b"} }, 3, false,
		},
		"graceful": {"the removal comes later", func(s *observation.State) { s.GraceSeconds = 30 }, 3, false},
		"no Pod":   {"only Pods have a grace period", func(s *observation.State) { s.Pod = nil }, 3, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var r history.Record
			shared := history.NewShared()
			for _, rv := range []uint64{10, 20} {
				s := &observation.State{Created: epoch, Pod: &observation.Pod{}}
				s.UID, s.Name, s.ResourceVersion = "uid", "web", rv
				if rv == 20 {
					s.Deleting = epoch.Add(time.Second)
					tc.edit(s)
				}
				r.State(&observation.Observation{State: s, Seen: epoch.Add(time.Second)}, shared)
			}
			gone := &observation.Gone{ResourceVersion: 21}
			gone.UID = "uid"
			r.Gone(&observation.Observation{Gone: gone, Seen: epoch.Add(time.Second)})
			slots := Slots(&r)
			if len(slots) != tc.slots {
				t.Fatalf("%s: %d slots, want %d", tc.reason, len(slots), tc.slots)
			}
			q := request("delete", 200, 0, 900*time.Millisecond)
			j := &Joins{Version: map[uint64]Joined{}, Removal: Joined{q, byUID}}
			j.Hurried(&r)
			if got := j.Version[20].Write == q; got != tc.byDeletion {
				t.Errorf("%s: the request made the version: %t, want %t", tc.reason, got, tc.byDeletion)
			}
		})
	}
}

// TestFind: the requests from before the end of the first list that certainly made the found state.
func TestFind(t *testing.T) {
	type edit func(*observation.Write)
	version := func(rv uint64) edit { return func(q *observation.Write) { q.ResourceVersion = rv } }
	unlisted := func(q *observation.Write) { q.Unlisted = true }
	by := func(user string) edit { return func(q *observation.Write) { q.User = user } }
	status := func(q *observation.Write) { q.Subresource = "status" }
	managed := func(q *observation.Write) { q.Manager = "m" }
	cases := map[string]struct {
		reason string
		edits  [][]edit // one for each request
		want   int
	}{
		"its version": {"the list shows it", [][]edit{{unlisted, version(10)}}, 1},
		"an earlier one": {
			"the list shows its result", [][]edit{{unlisted, version(9)}, {unlisted, version(10)}}, 2,
		},
		"a later one":    {"the watch will show it", [][]edit{{unlisted, version(11)}}, 0},
		"after the list": {"it is a change of a listed object", [][]edit{{version(10)}}, 0},
		"a component": {
			"its cause may be older", [][]edit{{unlisted, version(10), by("system:kube-scheduler")}}, 0,
		},
		"a status":          {"it is no change", [][]edit{{unlisted, version(10), status}}, 0},
		"no version":        {"nothing shows that it came before", [][]edit{{unlisted}}, 0},
		"its own timestamp": {"managedFields have the same manager and second", [][]edit{{unlisted, managed}}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var r history.Record
			s := &observation.State{
				Created: epoch.Add(-time.Hour), Managers: []observation.Manager{{Name: "m", Time: epoch}},
			}
			s.UID, s.Name, s.ResourceVersion = "uid", "web", 10
			r.State(&observation.Observation{
				State: s, Baseline: true, Listed: true, Seen: epoch.Add(time.Minute),
			}, history.NewShared())
			var list []*observation.Write
			for i, edits := range tc.edits {
				q := request("patch", 200, 0, time.Duration(i)*time.Millisecond)
				for _, edit := range edits {
					edit(q)
				}
				list = append(list, q)
			}
			j := &Joins{Version: map[uint64]Joined{}}
			if j.Find(&r, list); len(j.Found) != tc.want {
				t.Errorf("%s: found %d requests, want %d", tc.reason, len(j.Found), tc.want)
			}
		})
	}
}
