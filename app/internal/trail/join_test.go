// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestJoinsInAnyOrder: the order of arrival of versions and requests changes no join.
func TestJoinsInAnyOrder(t *testing.T) {
	inOrder := func(q *observation.Write) { q.ResourceVersion = 0 }
	// arrivals are five versions of an object, its removal, and the requests for most of them.
	arrivals := func(w *world, web *change.Timeline) []func() {
		var out []func()
		for n, rv := range []uint64{10, 12, 14, 16, 18} {
			out = append(out, func() {
				s := &observation.State{
					Ref: web.Ref, ResourceVersion: rv, Created: at(10), Generation: int64(n), ObservedGeneration: -1,
				}
				w.index.Put(web, &observation.Observation{State: s, Seen: at(float64(rv))}, false, false)
			})
		}
		return append(out,
			func() { w.gone(web, 20) },
			func() { w.attach(web, "create", 10) },
			func() { w.attach(web, "patch", 12) },
			func() { w.attach(web, "patch", 14, inOrder, func(q *observation.Write) { q.Precondition = 12 }) },
			func() { w.attach(web, "patch", 18, nameless) },
			func() { w.attach(web, "patch", 18, forged, func(q *observation.Write) { q.AuditID = "forged" }) },
			func() { w.attach(web, "delete", 20, inOrder) },
		)
	}
	want := []string{"10 create-10", "12 patch-12", "14 patch-14", "16 none", "18 patch-18", "20 delete-20"}
	for seed := range uint64(50) {
		w := newWorld()
		web := w.put("uid")
		all := arrivals(w, web)
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(all)) {
			all[i]()
			Doubt(web)
		}
		var got []string
		for _, made := range web.Writes(nil, nil) {
			by := "none"
			if q := w.Audited(&made); q != nil {
				by = q.AuditID
			}
			got = append(got, fmt.Sprint(made.RV, " ", by))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}
