// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// heartbeat is how often a stream says that it is there.
	heartbeat = 15 * time.Second
	// A stream rests for restFactor times what it took to make documents, so
	// that big traces that change all the time do not take the whole machine;
	// at most maxRest, and not for less than minRest.
	restFactor       = 3
	minRest, maxRest = 50 * time.Millisecond, 5 * time.Second
)

// The names of events.
const (
	// EventTrace is a new version of a trace: its document.
	EventTrace = "trace"
	// EventWithdrawn names a trace that was told of and is none any more, or
	// none that touches the object: {"traceId"}.
	EventWithdrawn = "withdrawn"
	// EventSynced follows the traces that were open when the stream began:
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
	// errEnded ends one without anybody's fault.
	errEnded = errors.New("ended")
)

// watch serves a stream until its client goes, the Server closes, or the client
// does not read.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	p := s.params(r)
	of := p.object()
	if err := p.done(); err != nil {
		s.fail(w, r, err)
		return
	}
	select {
	case <-s.closing:
		w.Header().Set("Retry-After", "2")
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
	sub, asOf := s.opts.Hub.subscribe()
	defer s.opts.Hub.unsubscribe(sub)
	control := http.NewResponseController(w)
	st := &stream{
		server: s, sub: sub, of: of, told: map[trace.TraceID]bool{}, control: control,
		out: &httpserve.SlowClient{Writer: w, Patience: s.patience},
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies are to pass events on at once
	err := st.run(r.Context(), asOf)
	switch {
	case errors.Is(err, errEnded):
	case errors.Is(err, errCut):
		cut = true
		s.opts.Log.Warn("a watching client was cut off", "client", r.RemoteAddr, "reason", err)
	default:
		s.opts.Log.Error("a stream ended", "client", r.RemoteAddr, "error", err)
	}
}

// stream is one client that watches.
type stream struct {
	server  *Server
	sub     *subscription
	of      object.Ref
	out     *httpserve.SlowClient
	control *http.ResponseController
	// told are the open traces that the client was told of.
	told map[trace.TraceID]bool
	// spent is what was spent on documents since the last rest.
	spent time.Duration
}

// run tells everything until ctx ends, the server closes, or it finds why it
// cannot go on; its error says which.
func (st *stream) run(ctx context.Context, asOf time.Time) error {
	beat := time.NewTicker(st.server.heartbeat)
	defer beat.Stop()
	first := st.sub.waiting()
	if err := st.send([]byte("retry: 2000\n\n")); err != nil {
		return err
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
			if err := st.send([]byte(":\n\n")); err != nil {
				return err
			}
		}
	}
}

// next tells what has waited longest, if anything waits.
func (st *stream) next(ctx context.Context) error {
	if err := st.rest(ctx); err != nil {
		return err
	}
	v, lost := st.sub.take()
	switch {
	case lost:
		return errCut
	case v == nil:
		return nil
	}
	id := v.Trace.ID
	if v.Withdrawn || !touches(v.Trace, st.of) {
		if !st.told[id] {
			return nil
		}
		delete(st.told, id)
		return st.event(EventWithdrawn, Withdrawn{TraceID: id.String()})
	}
	begun := time.Now()
	doc, err := v.document(st.server.opts.Cluster)
	if err != nil {
		return err
	}
	st.spent += time.Since(begun)
	if st.told[id] = true; !v.Open {
		delete(st.told, id)
	}
	return st.data(EventTrace, doc)
}
