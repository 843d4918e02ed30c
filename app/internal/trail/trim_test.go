// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestTrim: each forgotten request counts once, by its result.
func TestTrim(t *testing.T) {
	inOrder := func(id string) func(*observation.Write) {
		return func(q *observation.Write) { q.ResourceVersion, q.AuditID = 0, id }
	}
	cases := map[string]struct {
		reason string
		set    func(w *world)
		before time.Time
		left   []string
		want   Stats
	}{
		"joined": {"the request made a version", func(w *world) {
			w.attach(w.put("uid", 10, 12), "patch", 12)
		}, time.Time{}, nil, Stats{Joined: 1}},
		"removal": {"the request removed the object", func(w *world) {
			web := w.put("uid", 10)
			w.gone(web, 15)
			w.attach(web, "delete", 15, inOrder("delete"))
		}, time.Time{}, nil, Stats{Joined: 1}},
		"missed": {"the request made a write that was not observed", func(w *world) {
			w.attach(w.put("uid", 10, 12), "patch", 11)
		}, time.Time{}, nil, Stats{Joined: 1}},
		"unmatched": {"the request made no known write", func(w *world) {
			w.attach(w.put("uid", 10, 12), "patch", 30)
		}, time.Time{}, nil, Stats{Unmatched: 1}},
		"ambiguous": {"two requests compete for one write", func(w *world) {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12, inOrder("a"))
			w.attach(web, "patch", 12, inOrder("b"))
		}, time.Time{}, nil, Stats{Ambiguous: 2}},
		"early": {"only requests from before the time go", func(w *world) {
			web := w.put("uid", 10, 12, 14)
			w.attach(web, "patch", 12)
			w.attach(web, "patch", 14)
		}, at(12), []string{"patch-14"}, Stats{Joined: 1}},
		"exact": {"a request that ended at the time stays", func(w *world) {
			w.attach(w.put("uid", 10, 12), "patch", 12)
		}, at(11.8), []string{"patch-12"}, Stats{}},
		"none": {"the object has no requests", func(w *world) { w.put("uid", 10) }, time.Time{}, nil, Stats{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.set(w)
			web := w.index.Timeline(ref("web", "uid"))
			w.Trim(web, tc.before)
			if diff := cmp.Diff(tc.want, w.Stats()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			var left []string
			if web.Audits != nil {
				left = ids(web.Audits.List)
			}
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Errorf("%s: left: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTrimDoubt: the rest of the requests is joined again.
func TestTrimDoubt(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 10, 12, 14)
	w.attach(web, "patch", 12)
	w.attach(web, "patch", 14)
	w.Trim(web, at(12))
	if w.Audited(write(web, 12)) != nil {
		t.Error("a forgotten request is still joined")
	}
	if w.Audited(write(web, 14)) == nil {
		t.Error("the request that was kept is not joined")
	}
}
