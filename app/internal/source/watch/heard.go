// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// probePath is what a probe asks for. Kubernetes lets every client read it, and
// exempts it from the limits of API Priority and Fairness.
const probePath = "livez"

// heard is when the API server last gave a sign of life (Unix nanoseconds): an
// answer, or a change or bookmark of a watch. 0 is never.
type heard struct{ at atomic.Int64 }

func (h *heard) now(at time.Time) { h.at.Store(at.UnixNano()) }

// last is the time of the last sign of life; zero if there was none.
func (h *heard) last() time.Time {
	if at := h.at.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// startProbing begins to probe, if that is configured, unless it has begun.
func (w *Watcher) startProbing(ctx context.Context) {
	if !w.probes {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.probing {
		return
	}
	w.probing = true
	w.launch(ctx, w.probe)
}

// probe sends a request whenever the API server has given no sign of life for a
// while. A hung server keeps its connections open, and so do watches on which
// nothing changes; the answer tells the two apart.
func (w *Watcher) probe(ctx context.Context) {
	for ctx.Err() == nil {
		quiet := w.now().Sub(w.heard.last())
		if 0 <= quiet && quiet < w.pace.probe {
			sleep(ctx, w.pace.probe-quiet, nil)
			continue
		}
		if w.ask(ctx) {
			w.heard.now(w.now())
		}
		sleep(ctx, w.pace.probe/3, nil)
	}
}

// ask reports whether the API server answers in time.
func (w *Watcher) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, w.pace.answer)
	defer cancel()
	l := w.link.Load()
	base, _, err := rest.DefaultServerUrlFor(l.conf)
	if err != nil {
		return false
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath(probePath).String(), http.NoBody)
	if err != nil {
		return false
	}
	resp, err := l.client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false // of a proxy, or of a server that is starting or ending
	}
	return true
}
