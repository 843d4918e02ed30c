// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// epoch is the base of all times.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns the time in that second. The version n arrives in second n.
func at(second float64) time.Time { return epoch.Add(time.Duration(second * float64(time.Second))) }

// world holds the observed objects of one test, and the trail of the audit log.
type world struct {
	*Trail
	index *index.Index
}

func newWorld() *world {
	x := index.New()
	return &world{New(x.View()), x}
}

// ref returns the reference of a Deployment.
func ref(name, uid string) object.Ref {
	return object.Ref{Kind: kind.Deployment.Kind, Namespace: "default", Name: name, UID: types.UID(uid)}
}

// put adds versions of Deployment web with that UID. The first one is its creation. The generation is the
// number of the version.
func (w *world) put(uid string, versions ...uint64) *change.Timeline {
	t := w.index.Timeline(ref("web", uid))
	for _, rv := range versions {
		s := &observation.State{Ref: t.Ref, ResourceVersion: rv, Created: at(float64(versions[0])),
			ObservedGeneration: -1}
		s.Generation = int64(len(t.Versions)) + 1
		w.index.Put(t, &observation.Observation{State: s, Seen: at(float64(rv))}, false, false)
	}
	return t
}

// gone adds the removal of an object.
func (w *world) gone(t *change.Timeline, rv uint64) {
	w.index.PutGone(t, &observation.Observation{
		Gone: &observation.Gone{Ref: t.Ref, ResourceVersion: rv}, Seen: at(float64(rv)),
	})
}

// request returns a request of the audit log for the version rv. Its response came 0.2 s before the version, and
// took 0.5 s. The edits come last.
func request(t *change.Timeline, verb string, rv uint64, edits ...func(*observation.Write)) *observation.Write {
	q := &observation.Write{
		Ref: t.Ref, Verb: verb, Code: 200, ResourceVersion: rv, AuditID: fmt.Sprintf("%s-%d", verb, rv),
		Start: at(float64(rv) - 0.7), End: at(float64(rv) - 0.2),
	}
	if verb == "create" {
		q.Code = 201
	}
	for _, e := range edits {
		e(q)
	}
	return q
}

// attach adds a request of the audit log, and returns it.
func (w *world) attach(t *change.Timeline, verb string, rv uint64,
	edits ...func(*observation.Write)) *observation.Write {
	q := request(t, verb, rv, edits...)
	w.Attach(t, q)
	return q
}

// nameless removes the UID from a request.
func nameless(q *observation.Write) { q.UID = "" }

// forged marks a request of a source that accepts any sender.
func forged(q *observation.Write) { q.Unauthenticated = true }

// from sets the user of a request.
func from(user string) func(*observation.Write) {
	return func(q *observation.Write) { q.User = user }
}

// write returns the write rv of an object.
func write(t *change.Timeline, rv uint64) *change.Write {
	for _, w := range t.Writes(nil, nil) {
		if w.RV == rv {
			return &w
		}
	}
	panic("no such write")
}

// moment describes a time by its distance from the epoch and its source.
func moment(m history.Moment) string {
	return m.At().Sub(epoch).String() + " by " + string(m.At().Source)
}
