// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestMissed: the audit log adds the writes between two versions.
func TestMissed(t *testing.T) {
	raised := func(q *observation.Write) { q.Generation = 2 }
	of := func(subresource string) func(*observation.Write) {
		return func(q *observation.Write) { q.Subresource = subresource }
	}
	cases := map[string]struct {
		reason string
		set    func(w *world)
		want   []string // place, part, version before
	}{
		"none": {"all writes were observed", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 20)
		}, []string{"10 desired 0", "20 desired 0"}},
		"bookkeeping": {"the generation is the same", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 15)
		}, []string{"10 desired 0", "15 bookkeeping 10", "20 desired 15"}},
		"desired": {"the request raised the generation", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 15, raised)
		}, []string{"10 desired 0", "15 desired 10", "20 desired 15"}},
		"same generation": {"the request changed no desired state", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 15, func(q *observation.Write) { q.Generation = 1 })
		}, []string{"10 desired 0", "15 bookkeeping 10", "20 desired 15"}},
		"no generation": {"the object had none yet", func(w *world) {
			web := w.put("uid", 10, 20)
			before := *web.Versions[0].Intent
			before.Generation = 0
			web.Versions[0].Intent = &before
			w.attach(web, "patch", 15, raised)
		}, []string{"10 desired 0", "15 bookkeeping 10", "20 desired 15"}},
		"named too early": {"the request means another object of the name", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 15, nameless,
				func(q *observation.Write) { q.Start, q.End = at(2), at(3) })
		}, []string{"10 desired 0", "20 desired 0"}},
		"status": {"a status is observed state", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 15, raised, of("status"))
		}, []string{"10 desired 0", "15 observed 10", "20 desired 15"}},
		"binding": {"a binding is observed state", func(w *world) {
			w.attach(w.put("uid", 10, 20), "create", 15, func(q *observation.Write) { q.Subresource = "binding" })
		}, []string{"10 desired 0", "15 observed 10", "20 desired 15"}},
		"two": {"each follows the one before", func(w *world) {
			web := w.put("uid", 10, 20)
			w.attach(web, "patch", 15)
			w.attach(web, "patch", 13)
		}, []string{"10 desired 0", "13 bookkeeping 10", "15 bookkeeping 13", "20 desired 15"}},
		"later": {"the watch may show it yet", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 25)
		}, []string{"10 desired 0", "20 desired 0"}},
		"earlier": {"the object was not there", func(w *world) {
			w.attach(w.put("uid", 10, 20), "patch", 5)
		}, []string{"10 desired 0", "20 desired 0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.set(w)
			web := w.index.Timeline(ref("web", "uid"))
			var got []string
			for _, m := range w.Missed(web, web.Writes(nil, nil), 0) {
				got = append(got, fmt.Sprint(m.RV, " ", m.Part, " ", m.Before))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMissedFrom: the writes of other objects before the index from stay where they are.
func TestMissedFrom(t *testing.T) {
	w := newWorld()
	other, web := w.put("other", 30), w.put("uid", 10, 20)
	q := w.attach(web, "patch", 15, func(q *observation.Write) { q.Manager = "kubectl" })
	out := web.Writes(other.Writes(nil, nil), nil)
	out = w.Missed(web, out, 1)
	var got []uint64
	for _, m := range out {
		got = append(got, m.RV)
	}
	if diff := cmp.Diff([]uint64{30, 10, 15, 20}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m := out[2]
	if m.Timeline != web || m.Audit == nil || m.Audit.Write != q || m.Manager != "kubectl" ||
		!m.At.Lo.Equal(q.Start) || !m.At.Hi.Equal(q.End) {
		t.Errorf("got %+v, want the time and the author of its request", m)
	}
	if got := w.Missed(other, nil, 0); got != nil {
		t.Errorf("got %d writes of an object without requests", len(got))
	}
}
