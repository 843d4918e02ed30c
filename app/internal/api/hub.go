// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Update is a new version of a trace.
type Update struct {
	// Trace is the whole version, and must not change afterwards. A withdrawn one needs only its
	// ID.
	Trace *span.Trace
	// Open marks an unfinished trace. Withdrawn marks a former open trace whose writes belong
	// elsewhere.
	// Amended marks a finished trace with a new claim about its outcome: it needs only its ID.
	Open, Withdrawn, Amended bool
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
	// run names the updates of this Hub, and last is the number of the latest one.
	run  string
	last uint64
	// ended has the latest ended or withdrawn traces, for streams that resume. forgotten is the highest
	// number of one that is not there any more.
	ended      []*version
	endedSpans int
	forgotten  uint64
	// since is the time from which ended has all.
	since time.Time
}

// maxEnded and maxEndedSpans bound the ended traces for streams that resume.
const maxEnded, maxEndedSpans = 1000, 2000

// Publish passes on updates in their order. One without a trace only has the time of the data. It never
// waits for a stream. A slow stream gets only the latest version of each trace, and is cut off when too
// many wait.
func (h *Hub) Publish(updates []Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[trace.TraceID]*version{}
	}
	versions := make([]*version, 0, len(updates))
	for _, u := range updates {
		if h.since.IsZero() {
			h.since = u.AsOf
		}
		if u.AsOf.After(h.asOf) {
			h.asOf = u.AsOf
		}
		if u.Trace == nil {
			continue
		}
		h.last++
		v := &version{
			Sealed: store.Seal(u.Trace, u.Open, u.AsOf), withdrawn: u.Withdrawn, amended: u.Amended, number: h.last,
			asOf: u.AsOf,
		}
		versions = append(versions, v)
		id := v.ID()
		_, was := h.open[id]
		switch {
		case v.amended:
			h.end(v)
		case !v.Open() || v.withdrawn:
			delete(h.open, id)
			h.end(v)
		default:
			h.open[id] = v
			if !was {
				h.order = append(h.order, id)
			}
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

// end remembers an ended trace.
func (h *Hub) end(v *version) {
	h.ended = append(h.ended, v)
	h.endedSpans += v.Spans()
	for len(h.ended) > maxEnded || h.endedSpans > maxEndedSpans {
		h.forgotten = h.ended[0].number
		if at := h.ended[0].asOf; at.After(h.since) {
			h.since = at
		}
		h.endedSpans -= h.ended[0].Spans()
		h.ended[0] = nil
		h.ended = h.ended[1:]
	}
}

// AsOf returns the time of the latest update; zero before the first one. All earlier versions are stored.
func (h *Hub) AsOf() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asOf
}

// all reports whether the hub has all traces that ended after a time.
func (h *Hub) all(after time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.since.IsZero() && !after.Before(h.since)
}

// subscribe returns a subscription that starts with all open traces, or with the updates after an event
// ID if resumed is true, and has no gap. Unless ended is zero, it starts with the traces that ended after that time,
// too. Unsubscribe ends it.
func (h *Hub) subscribe(after string, ended time.Time) (s *subscription, asOf time.Time, resumed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run == "" {
		h.run = rand.Text()
	}
	from, resumed := h.position(after)
	order := h.inOrder()
	s = newSubscription(maxPending+len(order)+len(h.ended), h.run, h.last)
	var versions []*version
	for _, id := range order {
		if v := h.open[id]; v.number > from {
			versions = append(versions, v)
		}
	}
	for _, v := range h.ended {
		if resumed && v.number > from || !ended.IsZero() && v.asOf.After(ended) {
			versions = append(versions, v)
		}
	}
	if resumed {
		slices.SortFunc(versions, func(a, b *version) int { return cmp.Compare(a.number, b.number) })
	}
	s.put(versions)
	if h.subs == nil {
		h.subs = map[*subscription]struct{}{}
	}
	h.subs[s] = struct{}{}
	return s, h.asOf, resumed
}

// position returns the number of an event ID, if all later updates are known.
func (h *Hub) position(id string) (after uint64, known bool) {
	run, number, found := strings.Cut(id, placeSeparator)
	after, err := strconv.ParseUint(number, 10, 64)
	if !found || run != h.run || err != nil || after < h.forgotten || after > h.last {
		return 0, false
	}
	return after, true
}

func (h *Hub) unsubscribe(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, s)
}

// version is an update, sealed for the streams. Its document is made once for all streams with the whole
// trace.
type version struct {
	*store.Sealed
	withdrawn, amended bool
	number             uint64
	asOf               time.Time

	once sync.Once
	doc  []byte
	err  error
}

// key identifies the versions of which a stream needs only the latest one. A new claim does not take the place of the
// trace itself.
func (v *version) key() key { return key{v.ID(), v.amended} }

type key struct {
	id      trace.TraceID
	amended bool
}

// document returns the document of an excerpt of the version. All calls have the same cluster.
func (v *version) document(of *store.Excerpt, cluster string) ([]byte, error) {
	if !of.Whole() {
		return document(of, SummaryOf(of.Summary()), cluster)
	}
	v.once.Do(func() { v.doc, v.err = document(of, SummaryOf(of.Summary()), cluster) })
	return v.doc, v.err
}
