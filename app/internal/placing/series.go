// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

func (p *Placing) heartbeatOf(t *change.Timeline) *change.Heartbeat {
	h := p.heartbeats[t]
	if h == nil {
		h = &change.Heartbeat{}
		if l := p.series[t.Ref.UID]; l != nil {
			h.All = slices.Clone(l.All)
		}
		if p.heartbeats == nil {
			p.heartbeats = map[*change.Timeline]*change.Heartbeat{}
		}
		p.heartbeats[t] = h
	}
	return h
}

// inSeries reports whether w belongs to a series that has begun. It then adds w to that series.
func (p *Placing) inSeries(w *change.Write) bool {
	author, fields := w.SeriesKey()
	if author == "" {
		return false
	}
	h, at := p.heartbeatOf(w.Timeline), w.At.At().Time
	s := h.Find(author, fields)
	if s == nil || s.Writes < change.SeriesBegins || !s.Continues(at) {
		return false
	}
	h.Beat(change.Beat{Author: author, Fields: fields, RV: w.RV, At: at})
	return true
}

// beginSeries records the change r. Without a cause, it may be one of the first changes of a
// series.
func (p *Placing) beginSeries(r *change.Reconciliation) {
	w := r.First()
	author, fields := w.SeriesKey()
	if author == "" || r.Parent != nil || r.Evidence != "" {
		return
	}
	p.heartbeatOf(w.Timeline).Beat(change.Beat{
		Author: author, Fields: fields, RV: w.RV, At: w.At.At().Time, Line: r.Lineage.ID, Span: r.ID(),
	})
}
