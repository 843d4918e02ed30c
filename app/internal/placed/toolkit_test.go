// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"time"

	"go.opentelemetry.io/otel/trace"
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

// world holds the observed objects of one test, and the changes to them.
type world struct {
	*Changes
	index *index.Index
	taken map[trace.TraceID]change.Taken
}

func newWorld() *world {
	x, taken := index.New(), map[trace.TraceID]change.Taken{}
	return &world{New(x.View(), change.Options{}.Complete(), taken, 4), x, taken}
}

// put adds versions of a Deployment. The name is also the UID. A version has its desired state from arrived on.
func (w *world) put(name string, arrived uint64, versions ...uint64) *change.Timeline {
	t := w.index.Timeline(object.Ref{
		Kind: kind.Deployment.Kind, Namespace: "default", Name: name, UID: types.UID(name),
	})
	for _, rv := range versions {
		s := &observation.State{Ref: t.Ref, ResourceVersion: rv, Created: at(float64(versions[0])), Generation: 1}
		s.Workload = &observation.Workload{Replicas: 1}
		if rv >= arrived {
			s.ObservedGeneration = 1
			s.Workload.Total, s.Workload.Updated, s.Workload.Available = 1, 1, 1
		}
		w.index.Put(t, &observation.Observation{State: s, Seen: at(float64(rv))}, false, false)
	}
	return t
}

// line returns the lineage with that number, a new one if there is none.
func (w *world) line(n byte) *change.Lineage {
	id := trace.TraceID{n}
	if w.Lines[id] == nil {
		w.Lines[id] = &change.Lineage{ID: id}
	}
	return w.Lines[id]
}

// change adds a reconciliation of the lineage n, with one write to desired state.
func (w *world) change(t *change.Timeline, n byte, rv uint64,
	edits ...func(*change.Reconciliation)) *change.Reconciliation {
	r := &change.Reconciliation{
		Timeline: t, Lineage: w.line(n), Verb: history.Updated, Parts: kind.Everything, Activity: at(float64(rv)),
	}
	r.Wrote(&change.Write{
		Timeline: t, RV: rv, Verb: history.Updated, Part: change.Desired, Version: t.At(rv),
		At: history.Moment{Hi: at(float64(rv)), Live: true},
	})
	for _, e := range edits {
		e(r)
	}
	w.Add(r)
	return r
}

// instant marks an instant change.
func instant(r *change.Reconciliation) { r.Instant = true }

// context returns a W3C trace context of the lineage n.
func context(n byte) string {
	return "00-" + trace.TraceID{n}.String() + "-00000000000000ff-01"
}
