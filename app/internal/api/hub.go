// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Update is a new version of a trace.
type Update struct {
	// Trace is the version as a whole, and must not change afterwards. Of one
	// that is withdrawn only the ID counts.
	Trace *span.Trace
	// Open: more is expected of it. Withdrawn: it was open, and turned out to
	// be none.
	Open, Withdrawn bool
	// AsOf is when it stood so.
	AsOf time.Time
}

// Hub hands updates to the streams of a Server, and keeps the latest version of
// each open trace for those that begin. The zero value is ready; a Hub is safe
// for concurrent use.
type Hub struct {
	mu   sync.Mutex
	open map[trace.TraceID]*version
	// order has the open traces in the order in which they came, and may have
	// others.
	order []trace.TraceID
	subs  map[*subscription]struct{}
	asOf  time.Time
}

// Publish hands out updates in their order. It never waits for a stream: one
// that does not keep up gets the latest version of each trace only, and is cut
// off when too much waits for it.
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

// tidy drops from the order what is no longer open, once that is most of it.
func (h *Hub) tidy() {
	if len(h.order) > 2*len(h.open)+64 {
		h.order = h.inOrder()
	}
}

// inOrder are the open traces, each once.
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

// subscribe returns a subscription to which all open traces were put, without a
// gap to what follows. Unsubscribe ends it.
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

// version is an update with its document, which is made once for all streams.
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

// touches reports whether a span of t is about an object that has all that is
// set in ref, or tells of a write to one, as store.Query has it.
func touches(t *span.Trace, ref object.Ref) bool {
	if ref == (object.Ref{}) {
		return true
	}
	for _, s := range t.Spans {
		if matches(s.Object, ref) {
			return true
		}
		for _, w := range store.WritesOf(s) {
			if w.Object != s.Object && matches(w.Object, ref) {
				return true
			}
		}
	}
	return false
}

func matches(got, want object.Ref) bool {
	fits := func(got, want string) bool { return want == "" || got == want }
	return got != (object.Ref{}) && fits(string(got.UID), string(want.UID)) && fits(got.Name, want.Name) &&
		fits(got.Namespace, want.Namespace) && fits(got.Kind.Kind, want.Kind.Kind) && fits(got.Group, want.Group)
}
