// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// moment is what is in memory after one look or one batch of the archive. It never changes.
type moment struct {
	asOf time.Time
	open map[trace.TraceID]*held
	// pending are the entries of the log that are not archived, by number, in order; finished and
	// amended find them by trace. repeated are further finished versions.
	pending  []*held
	finished map[trace.TraceID]*held
	repeated map[trace.TraceID][]*held
	amended  map[trace.TraceID][]*held
	// spans counts the spans of pending in memory.
	spans int
}

// held is an open trace, or an entry of the log.
type held struct {
	journal.Item
	open bool
	// trace is nil if it must be read from the journal.
	trace *span.Trace

	// mu guards summary, which is made once.
	mu      sync.Mutex
	summary *store.Summary
}

func (m *moment) index() {
	m.finished, m.amended = map[trace.TraceID]*held{}, map[trace.TraceID][]*held{}
	m.repeated = map[trace.TraceID][]*held{}
	for _, h := range m.pending {
		switch {
		case h.Amends:
			m.amended[h.TraceID] = append(m.amended[h.TraceID], h)
		case m.finished[h.TraceID] == nil: // the first version is valid
			m.finished[h.TraceID] = h
		default:
			m.repeated[h.TraceID] = append(m.repeated[h.TraceID], h)
		}
	}
}

// live returns the trace in memory; nil if there is none. A finished one wins over an open one.
func (m *moment) live(id trace.TraceID) *held {
	if h := m.finished[id]; h != nil {
		return h
	}
	return m.open[id]
}

// traces returns the traces in memory, each once.
func (m *moment) traces() []*held {
	out := make([]*held, 0, len(m.open)+len(m.finished))
	for _, h := range m.finished {
		out = append(out, h)
	}
	for id, h := range m.open {
		if m.finished[id] == nil {
			out = append(out, h)
		}
	}
	return out
}

// ids returns the traces with a part in memory.
func (m *moment) ids() []trace.TraceID {
	var out []trace.TraceID
	for _, h := range m.traces() {
		out = append(out, h.TraceID)
	}
	for id := range m.amended {
		if m.live(id) == nil {
			out = append(out, id)
		}
	}
	return out
}

// partsOf returns everything in memory of one trace.
func (m *moment) partsOf(id trace.TraceID) []*held {
	var out []*held
	if h := m.live(id); h != nil {
		out = append(out, h)
	}
	return slices.Concat(out, m.repeated[id], m.amended[id])
}

// countAmended adds the spans in the log to the number of spans. A span in both counts once only
// after the next batch of the archive.
func (m *moment) countAmended(s *store.Summary) {
	for _, h := range m.amended[s.ID] {
		s.Spans += h.Spans
	}
}
