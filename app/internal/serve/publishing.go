// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// publishing passes on stored looks: to readers, the consumers of the log, live streams and metrics.
type publishing struct {
	view      *view.View
	consumers []consumer
	hub       *api.Hub
	progress  *progress
	metrics   *loopMetrics
	now       func() time.Time
}

// consumer is a consumer of the log.
type consumer interface {
	// Add adds stored entries.
	Add(items ...journal.Item)
}

// stored passes on a stored look.
func (p *publishing) stored(l *look) {
	p.view.Publish(l.AsOf, l.Revision, l.open, l.fresh())
	items := make([]journal.Item, len(l.fresh()))
	for i, e := range l.fresh() {
		items[i] = e.Item
	}
	for _, c := range p.consumers {
		c.Add(items...)
	}
	updates := []api.Update{{AsOf: l.AsOf}} // also without changes
	add := func(traces []*span.Trace, open bool) {
		for _, t := range traces {
			updates = append(updates, api.Update{Trace: t, Open: open, AsOf: l.AsOf})
		}
	}
	add(l.changed, true)
	add(l.kept(false), false)
	for _, t := range l.kept(true) {
		if slices.ContainsFunc(t.Spans, (*span.Span).Revises) {
			updates = append(updates, api.Update{Trace: &span.Trace{ID: t.ID}, Amended: true, AsOf: l.AsOf})
		}
	}
	for _, id := range l.withdrawn {
		updates = append(updates, api.Update{Trace: &span.Trace{ID: id}, Withdrawn: true, AsOf: l.AsOf})
	}
	p.hub.Publish(updates)
	p.metrics.count(l, p.now())
	p.progress.advance(l.AsOf)
}
