// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// timing is one case of a time.
type timing struct {
	reason string
	set    func(w *world) history.Moment
	want   string
}

func testTimes(t *testing.T, cases map[string]timing) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, moment(tc.set(newWorld()))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBegan: a write begins with its request, if one is known.
func TestBegan(t *testing.T) {
	testTimes(t, map[string]timing{
		"watch": {"no request is known", func(w *world) history.Moment {
			return w.Began(write(w.put("uid", 10, 12), 12))
		}, "12s by watch"},
		"audit": {"the audit log has the request", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12)
			return w.Began(write(web, 12))
		}, "11.3s by audit"},
		"request": {"an observed request is more precise", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12)
			web.Request(request(web, "patch", 12, func(q *observation.Write) { q.Start = at(11.35) }))
			return w.Began(write(web, 12))
		}, "11.35s by request"},
		"clocks": {"the request began after its effect: the clocks differ", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12, func(q *observation.Write) { q.Start, q.End = at(12.1), at(12.2) })
			return w.Began(write(web, 12))
		}, "12s by watch"},
		"removal": {"the audit log has the request of the removal", func(w *world) history.Moment {
			web := w.put("uid", 10)
			w.gone(web, 15)
			w.attach(web, "delete", 15, func(q *observation.Write) { q.ResourceVersion = 0 })
			return w.Began(write(web, 15))
		}, "14.3s by audit"},
	})
}

// TestStart: a span begins no later than the effects that the audit log times.
func TestStart(t *testing.T) {
	r := func(web *change.Timeline, rv uint64) *change.Reconciliation {
		return &change.Reconciliation{Timeline: web, Writes: []*change.Write{write(web, rv)}}
	}
	// above adds a child with a request at 11.3 to the reconciliation of 14, which a list showed.
	above := func(w *world, audited bool) *change.Reconciliation {
		up := r(w.put("up", 10, 14), 14)
		up.First().At = history.Moment{Lo: at(5), Hi: at(14)}
		child := w.put("uid", 10, 12)
		if audited {
			w.attach(child, "patch", 12)
		}
		up.Children = []*change.Reconciliation{r(child, 12)}
		return up
	}
	testTimes(t, map[string]timing{
		"write": {"the first write begins it", func(w *world) history.Moment {
			return w.Start(r(w.put("uid", 10, 12), 12))
		}, "12s by watch"},
		"known": {"a derived start stays", func(w *world) history.Moment {
			up := r(w.put("uid", 10, 12), 12)
			up.Start = &history.Moment{Hi: at(7), Live: true}
			return w.Start(up)
		}, "7s by watch"},
		"effect": {"the effect bounds the start", func(w *world) history.Moment {
			up := above(w, true)
			up.First().At.Lo = time.Time{}
			return w.Start(up)
		}, "11.3s by watch"},
		"late watch": {"the effect has no request", func(w *world) history.Moment {
			up := above(w, false)
			up.First().At.Lo = time.Time{}
			return w.Start(up)
		}, "14s by watch"},
		"bounded": {"the lower bound is the best time", func(w *world) history.Moment {
			return w.Start(above(w, true))
		}, "5s by object"},
	})
	w := newWorld()
	up := above(w, true)
	if w.Start(up); up.Start == nil || !up.Start.Hi.Equal(at(11.3)) {
		t.Errorf("the stored start is %+v, want at most 11.3s", up.Start)
	}
}

// TestStored: a version is stored before the response to its request.
func TestStored(t *testing.T) {
	testTimes(t, map[string]timing{
		"watch": {"no request is known", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			return w.Stored(web, web.At(12))
		}, "12s by watch"},
		"audit": {"the audit log has the response", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12)
			return w.Stored(web, web.At(12))
		}, "11.8s by audit"},
		"other version": {"the request is that of another version", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			w.attach(web, "create", 10)
			return w.Stored(web, web.At(12))
		}, "12s by watch"},
	})
}

// TestStoredIn: a timestamp of the object narrows the time of a version, unless the request is in that second.
func TestStoredIn(t *testing.T) {
	audited := func(since time.Time) func(w *world) history.Moment {
		return func(w *world) history.Moment {
			web := w.put("uid", 10, 15)
			w.attach(web, "patch", 15)
			return w.StoredIn(web, web.At(15), since)
		}
	}
	testTimes(t, map[string]timing{
		"no request": {"the timestamp is older than the late arrival", func(w *world) history.Moment {
			web := w.put("uid", 10, 15)
			return w.StoredIn(web, web.At(15), at(12))
		}, "12s by object"},
		"no timestamp":     {"the request has the time", audited(time.Time{}), "14.8s by audit"},
		"same second":      {"the request is in the second", audited(at(14)), "14.8s by audit"},
		"begin of second":  {"the second begins with the response", audited(at(14.8)), "14.8s by audit"},
		"reported later":   {"the kubelet reported the change later", audited(at(12)), "12s by object"},
		"end of second":    {"the response is after the second", audited(at(13.8)), "14.8s by watch"},
		"timestamp behind": {"the timestamp is after the response", audited(at(15)), "15s by watch"},
	})
}

// TestGone: a removal is stored before the response to its request.
func TestGone(t *testing.T) {
	testTimes(t, map[string]timing{
		"watch": {"no request is known", func(w *world) history.Moment {
			web := w.put("uid", 10)
			w.gone(web, 15)
			return w.Gone(web)
		}, "15s by watch"},
		"audit": {"the audit log has the response", func(w *world) history.Moment {
			web := w.put("uid", 10)
			w.gone(web, 15)
			w.attach(web, "delete", 15, func(q *observation.Write) { q.ResourceVersion = 0 })
			return w.Gone(web)
		}, "14.8s by audit"},
		"other request": {"the request is not that of the removal", func(w *world) history.Moment {
			web := w.put("uid", 10, 12)
			w.gone(web, 15)
			w.attach(web, "patch", 12)
			return w.Gone(web)
		}, "15s by watch"},
	})
	w := newWorld()
	web := w.put("uid", 10)
	w.gone(web, 15)
	if web.Removal.Listed = true; w.Gone(web).Live {
		t.Error("a removal from a list has an exact time")
	}
}
