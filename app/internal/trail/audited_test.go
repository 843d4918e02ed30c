// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestAudited: each write has the request that made it.
func TestAudited(t *testing.T) {
	// pair is web with the UID a, removed at 15, and web with the UID b, created at 20.
	pair := func(w *world) (a, b *change.Timeline) {
		a = w.put("a", 10, 12)
		w.gone(a, 15)
		return a, w.put("b", 20, 22)
	}
	cases := map[string]struct {
		reason string
		set    func(w *world) *change.Write
		want   string // the audit ID
	}{
		"version": {"the response has its resourceVersion", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12)
			return write(web, 12)
		}, "patch-12"},
		"other version": {"the request made another version", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			w.attach(web, "create", 10)
			return write(web, 12)
		}, ""},
		"no request": {"the audit log has none", func(w *world) *change.Write {
			return write(w.put("uid", 10, 12), 12)
		}, ""},
		"own": {"a write that only the audit log shows has its request", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			return &change.Write{Timeline: web, RV: 11, Audit: &audit.Joined{Write: request(web, "patch", 11)}}
		}, "patch-11"},
		"reconstructed": {"a write from before the observer has no known request", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12)
			found := write(web, 12)
			found.Reconstructed = true
			return found
		}, ""},
		"removal": {"the request removed the object", func(w *world) *change.Write {
			web := w.put("uid", 10)
			w.gone(web, 15)
			w.attach(web, "delete", 15, func(q *observation.Write) { q.ResourceVersion = 0 })
			return write(web, 15)
		}, "delete-15"},
		"request only": {"a request is no removal", func(w *world) *change.Write {
			web := w.put("uid", 10)
			w.gone(web, 15)
			w.attach(web, "delete", 15, func(q *observation.Write) { q.ResourceVersion = 0 })
			return &change.Write{Timeline: web, RV: 13}
		}, ""},
		"name": {"the name means one object", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12, nameless)
			return write(web, 12)
		}, "patch-12"},
		"former name": {"the former object was gone at the time", func(w *world) *change.Write {
			a, b := pair(w)
			w.attach(a, "patch", 22, nameless)
			w.attach(b, "patch", 22, nameless)
			return write(b, 22)
		}, "patch-22"},
		"later name": {"the later object was not there yet", func(w *world) *change.Write {
			a, b := pair(w)
			w.attach(a, "patch", 12, nameless)
			w.attach(b, "patch", 12, nameless)
			return write(a, 12)
		}, "patch-12"},
		"same name": {"two objects may have been there, and the request fits both", func(w *world) *change.Write {
			a := w.put("a", 10, 12)
			w.put("b", 10, 12)
			w.attach(a, "patch", 0, nameless, func(q *observation.Write) { q.Start, q.End = at(11.3), at(11.8) })
			return write(a, 12)
		}, ""},
		"compacted name": {"the writes of the other object are forgotten", func(w *world) *change.Write {
			a, b := w.put("a", 10, 12), w.put("b", 10)
			b.Past = &change.Past{}
			w.attach(a, "patch", 12, nameless)
			return write(a, 12)
		}, ""},
		"later compacted": {"the other object was not there yet", func(w *world) *change.Write {
			a, b := pair(w)
			b.Past = &change.Past{}
			w.attach(a, "patch", 12, nameless)
			return write(a, 12)
		}, "patch-12"},
		"hurried": {"one request stored the last version and removed the Pod", func(w *world) *change.Write {
			pod := w.index.Timeline(object.Ref{Kind: kind.Pod.Kind, Namespace: "default", Name: "web-a", UID: "pod"})
			for rv := uint64(10); rv <= 12; rv += 2 {
				s := &observation.State{Ref: pod.Ref, ResourceVersion: rv, Created: at(10), Pod: &observation.Pod{}}
				if rv == 12 {
					s.Deleting = at(12)
				}
				w.index.Put(pod, &observation.Observation{State: s, Seen: at(float64(rv))}, false, false)
			}
			w.gone(pod, 13)
			w.attach(pod, "delete", 12, func(q *observation.Write) { q.ResourceVersion = 0 })
			return write(pod, 12)
		}, "delete-12"},
		"forged": {"a forged request may join, too", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12, forged)
			return write(web, 12)
		}, "patch-12"},
		"authentic": {"an authentic request has precedence over an earlier forged one", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			w.attach(web, "patch", 12, forged, func(q *observation.Write) { q.Start, q.AuditID = at(11.2), "forged" })
			w.attach(web, "patch", 12)
			return write(web, 12)
		}, "patch-12"},
		"authentic, in order": {"the slot is taken already", func(w *world) *change.Write {
			web := w.put("uid", 10, 12)
			inOrder := func(q *observation.Write) { q.ResourceVersion = 0 }
			w.attach(web, "patch", 12, forged, inOrder, func(q *observation.Write) { q.AuditID = "forged" })
			w.attach(web, "patch", 12, inOrder)
			return write(web, 12)
		}, "patch-12"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, got := newWorld(), ""
			if q := w.Audited(tc.set(w)); q != nil {
				got = q.AuditID
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAuditedAgain: a later request of the same object needs new joins.
func TestAuditedAgain(t *testing.T) {
	w := newWorld()
	web := w.put("uid", 10, 12, 14)
	w.attach(web, "patch", 12)
	if w.Audited(write(web, 14)) != nil {
		t.Fatal("a write without a request has one")
	}
	w.attach(web, "patch", 14)
	Doubt(web)
	if w.Audited(write(web, 14)) == nil {
		t.Error("the request of the write was not joined")
	}
}
