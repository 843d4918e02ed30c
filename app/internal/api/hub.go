// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Update is a new version of a trace.
type Update struct {
	// Trace is the whole version, and must not change afterwards. A withdrawn one needs only its
	// ID.
	Trace *span.Trace
	// Open marks an unfinished trace. Withdrawn marks a former open trace whose writes belong
	// elsewhere.
	Open, Withdrawn bool
	// AsOf is the time of the version.
	AsOf time.Time
}

// Hub passes updates to the streams of a Server, and keeps the latest version of each open trace
// for new streams. The zero value is ready. It is safe for concurrent use.
type Hub struct {
	mu   sync.Mutex
	open map[trace.TraceID]*version
	// order has the open traces in the order of their arrival. It may have others.
	order []trace.TraceID
	subs  map[*subscription]struct{}
	asOf  time.Time
}

// Publish passes on updates in their order. It never waits for a stream. A slow stream gets only
// the latest version of each trace, and is cut off when too many wait.
func (h *Hub) Publish(updates []Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[trace.TraceID]*version{}
	}
	versions := make([]*version, 0, len(updates))
	for _, u := range updates {
		if u.Trace == nil {
			continue
		}
		v := &version{Update: u}
		versions = append(versions, v)
		_, was := h.open[u.Trace.ID]
		switch {
		case !u.Open || u.Withdrawn:
			delete(h.open, u.Trace.ID)
		default:
			h.open[u.Trace.ID] = v
			if !was {
				h.order = append(h.order, u.Trace.ID)
			}
		}
		if u.AsOf.After(h.asOf) {
			h.asOf = u.AsOf
		}
	}
	h.tidy()
	for s := range h.subs {
		s.put(versions)
	}
}

// tidy removes ended traces from the order, once they are the majority.
func (h *Hub) tidy() {
	if len(h.order) > 2*len(h.open)+64 {
		h.order = h.inOrder()
	}
}

// inOrder returns the open traces, each once.
func (h *Hub) inOrder() []trace.TraceID {
	out := make([]trace.TraceID, 0, len(h.open))
	seen := make(map[trace.TraceID]bool, len(h.open))
	for _, id := range h.order {
		if h.open[id] != nil && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// subscribe returns a subscription that starts with all open traces and has no gap. Unsubscribe
// ends it.
func (h *Hub) subscribe() (s *subscription, asOf time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	order := h.inOrder()
	s = newSubscription(maxPending + len(order))
	versions := make([]*version, len(order))
	for i, id := range order {
		versions[i] = h.open[id]
	}
	s.put(versions)
	if h.subs == nil {
		h.subs = map[*subscription]struct{}{}
	}
	h.subs[s] = struct{}{}
	return s, h.asOf
}

func (h *Hub) unsubscribe(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, s)
}

// version is an update with its document. The document is made once for all streams.
type version struct {
	Update
	once sync.Once
	doc  []byte
	err  error
}

// document is called by the streams of one Server, with its cluster.
func (v *version) document(cluster string) ([]byte, error) {
	v.once.Do(func() { v.doc, v.err = document(v.Trace, summarize(v.Trace, v.Open, v.AsOf), cluster) })
	return v.doc, v.err
}
