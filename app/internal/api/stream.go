// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// heartbeat is the period of a stream's signs of life.
	heartbeat = 15 * time.Second
	// A stream pauses for restFactor times the duration of making its documents, so that large
	// traces with constant changes do not use the whole machine. A pause is at most maxRest; one
	// below minRest is skipped.
	restFactor       = 3
	minRest, maxRest = 50 * time.Millisecond, 5 * time.Second
	// reviewPeriod is the shortest time after which a stream requests its access again. A stream does so before an
	// event and at each heartbeat. With grants that hold for 30 seconds, it ends within a minute after its right.
	reviewPeriod = 10 * time.Second
)

// retry is the pause after which a client connects again, and alive is a comment.
const (
	retry = "retry: 2000\n\n"
	alive = ":\n\n"
)

// The names of events.
const (
	// EventTrace is a new version of a trace: its document.
	EventTrace = "trace"
	// EventSummary is a new version of a trace in a stream of summaries: its Summary.
	EventSummary = "summary"
	// EventResync says that the stream cannot resume after the client's last event: it begins with all
	// open traces, and others that the client holds may have ended: {}. It also stands for an amended trace that
	// cannot be read now.
	EventResync = "resync"
	// EventWithdrawn names a trace of an earlier event that was withdrawn, or that does not touch
	// the object any more: {"traceId"}.
	EventWithdrawn = "withdrawn"
	// EventAmended follows the last version of a finished trace when its outcome has changed: its Summary.
	EventAmended = "amended"
	// EventProblems is the present problems, in their own stream: problem.List.
	EventProblems = "problems"
	// EventSynced follows the traces that were open at the stream's start, or the missed updates:
	// {"asOf"}.
	EventSynced = "synced"
)

// Withdrawn is the data of EventWithdrawn.
type Withdrawn struct {
	TraceID string `json:"traceId"`
}

// Synced is the data of EventSynced.
type Synced struct {
	AsOf time.Time `json:"asOf"`
}

var (
	// errCut ends a stream whose client does not read.
	errCut = errors.New("the client does not read")
	// errEnded is a regular end.
	errEnded = errors.New("ended")
)

// watch serves a stream until its client disconnects or does not read, or the Server closes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	asked, err := s.request(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	of := objectOf(asked.params)
	view := asked.params.choice("view", views)
	ended := asked.params.moment("ended")
	if err := asked.params.done(); err != nil {
		s.fail(w, r, err)
		return
	}
	s.stream(w, r, func(st *stream) error {
		st.request, st.access = asked, asked.access.In(s.opts.Cluster)
		last := r.Header.Get("Last-Event-ID")
		from := last
		if !st.access.All() {
			from = "" // which traces the client has had is not known, and a withdrawal would have another's ID
		}
		var asOf time.Time
		st.sub, asOf, st.resumed = s.opts.Hub.subscribe(from, ended)
		defer s.opts.Hub.unsubscribe(st.sub)
		st.of, st.known, st.summaries = of, map[trace.TraceID]bool{}, view == viewSummary
		st.resync = last != "" && !st.resumed || !ended.IsZero() && !s.opts.Hub.all(ended)
		return st.run(r.Context(), asOf)
	})
}

// stream serves one stream within the limit of streams. run sends its events, and returns why it ended.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, run func(*stream) error) {
	select {
	case <-s.closing:
		writeError(w, problem(http.StatusServiceUnavailable, "the server is stopping"))
		return
	default:
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		busy(w, "streams", cap(s.streams))
		return
	}
	cut := false
	s.opts.Metrics.StreamOpened()
	defer func() { s.opts.Metrics.StreamClosed(cut) }()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer
	err := run(&stream{
		server: s, reviewed: s.opts.Clock(), control: http.NewResponseController(w),
		out: &httpserve.SlowClient{Writer: w, Patience: s.patience},
	})
	switch {
	case errors.Is(err, errEnded):
	case errors.Is(err, errCut):
		cut = true
		s.opts.Log.Warn("a watching client was cut off", "client", r.RemoteAddr, "reason", err)
	default:
		s.opts.Log.Error("a stream ended", "client", r.RemoteAddr, "error", err)
	}
}

// The values of the parameter "view".
const (
	viewDocument = "document"
	viewSummary  = "summary"
)

var views = []string{viewDocument, viewSummary}

// stream is one watching client.
type stream struct {
	server *Server
	sub    *subscription
	// request is the request of the stream, with its first access; nil means that the access is not reviewed.
	request  *request
	reviewed time.Time
	access   store.Access
	of       object.Ref
	// summaries is true for a stream of summaries. resumed is true if it continues after the client's
	// last event, and resync if it should but cannot.
	summaries, resumed, resync bool
	// place is the last event ID.
	place string

	out     *httpserve.SlowClient
	control *http.ResponseController
	// known are the open traces in the client's view. parts are their visible parts, if these are not the whole.
	known map[trace.TraceID]bool
	parts map[trace.TraceID][sha256.Size]byte
	// spent is the time for documents since the last pause.
	spent time.Duration
}

// run sends events until ctx ends, the server closes, or a write fails. Its error is the reason.
func (st *stream) run(ctx context.Context, asOf time.Time) error {
	beat := time.NewTicker(st.server.heartbeat)
	defer beat.Stop()
	first := st.sub.waiting()
	if err := st.send([]byte(retry)); err != nil {
		return err
	}
	if st.resync {
		if err := st.event(EventResync, struct{}{}); err != nil {
			return err
		}
	}
	for range first {
		if err := st.next(ctx); err != nil {
			return err
		}
	}
	if err := st.event(EventSynced, Synced{AsOf: asOf.UTC()}); err != nil {
		return err
	}
	for {
		for more := true; more; more = st.sub.waiting() > 0 {
			if err := st.next(ctx); err != nil {
				return err
			}
		}
		if err := st.mark(); err != nil {
			return err
		}
		if err := st.flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errEnded
		case <-st.server.closing:
			return errEnded
		case <-st.sub.wake:
		case <-beat.C:
			if err := st.review(); err != nil {
				return err
			}
			if err := st.send([]byte(alive)); err != nil {
				return err
			}
		}
	}
}

// review requests the access of the stream again. It ends a stream whose access has changed: the client connects
// again, and gets what it may see now.
func (st *stream) review() error {
	now := st.server.opts.Clock()
	if st.request == nil || now.Sub(st.reviewed) < reviewPeriod {
		return nil
	}
	st.reviewed = now
	access, err := st.server.opts.Access(st.request.http)
	if err != nil || !access.Same(st.request.access) {
		return errEnded
	}
	return nil
}

// mark sends an event ID, if all updates so far were sent. A limited access has one ID for all of them: numbers would
// count the updates of hidden traces. A stream after this ID begins anew.
func (st *stream) mark() error {
	place := st.sub.place()
	if !st.access.All() {
		place, _, _ = strings.Cut(place, placeSeparator)
	}
	if place == "" || place == st.place {
		return nil
	}
	st.place = place
	return st.write([]byte("id: " + place + "\n\n"))
}

// amend sends the new outcome of a finished trace, or its aftermath, if the client may see it.
func (st *stream) amend(ctx context.Context, id trace.TraceID) error {
	of, err := st.access.Trace(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // the trace is not kept, or not the client's
	case err != nil: // the archive is away: the client asks again
		return st.event(EventResync, struct{}{})
	case !store.Touches(of.Trace(), st.of):
		return nil
	case !of.Whole() && !slices.ContainsFunc(of.Trace().Spans, (*span.Span).Revises):
		return nil // the claim or the aftermath is about a hidden object
	}
	return st.event(EventAmended, st.summary(of))
}

// summary returns the summary of a trace, with the present state of its object.
func (st *stream) summary(of *store.Excerpt) Summary {
	return st.server.broken.marked(st.access, SummaryOf(of.Summary()))
}

// changes reports whether a version differs from the one that the client has. Work of hidden objects makes versions
// whose visible part is the same.
func (st *stream) changes(of *store.Excerpt, open bool) bool {
	if of.Whole() {
		return true
	}
	id, part := of.Trace().ID, sha256.Sum256(span.PackTrace(of.Trace()))
	if open && st.known[id] && st.parts[id] == part {
		return false
	}
	if st.parts == nil {
		st.parts = map[trace.TraceID][sha256.Size]byte{}
	}
	st.parts[id] = part
	return true
}

// next sends the version that has waited longest, if any waits.
func (st *stream) next(ctx context.Context) error {
	if err := st.rest(ctx); err != nil {
		return err
	}
	if err := st.review(); err != nil {
		return err
	}
	v, lost := st.sub.take()
	switch {
	case lost:
		return errCut
	case v == nil:
		return nil
	}
	id := v.ID()
	if v.amended {
		return st.amend(ctx, id)
	}
	var visible *store.Excerpt
	if !v.withdrawn {
		visible = st.access.Unseal(v.Sealed)
	}
	if visible == nil || !store.Touches(visible.Trace(), st.of) {
		if !st.known[id] && !st.resumed {
			return nil
		}
		delete(st.known, id)
		delete(st.parts, id)
		return st.event(EventWithdrawn, Withdrawn{TraceID: id.String()})
	}
	if !st.changes(visible, v.Open()) {
		return nil
	}
	if st.known[id] = true; !v.Open() {
		delete(st.known, id)
		delete(st.parts, id)
	}
	begun := time.Now()
	defer func() { st.spent += time.Since(begun) }()
	if st.summaries {
		doc, err := marshal(st.summary(visible))
		if err != nil {
			return err
		}
		return st.data(EventSummary, doc)
	}
	doc, err := v.document(visible, st.server.opts.Cluster)
	if err != nil {
		return err
	}
	return st.data(EventTrace, doc)
}
