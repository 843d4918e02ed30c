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

// probePath is the path of a probe. By default, Kubernetes lets every client read it and exempts it
// from API Priority and Fairness.
const probePath = "livez"

// heard is the time of the API server's last sign of life (Unix nanoseconds): a response, or a
// change or bookmark of a watch. 0 means never.
type heard struct{ at atomic.Int64 }

func (h *heard) now(at time.Time) { h.at.Store(at.UnixNano()) }

// last returns the time of the last sign of life; zero means none.
func (h *heard) last() time.Time {
	if at := h.at.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// probe sends a request when the API server has shown no sign of life for a while. A hung server
// keeps its connections open, as do idle watches. The response distinguishes the two.
func (s *server) probe(ctx context.Context) {
	for ctx.Err() == nil {
		quiet := s.now().Sub(s.heard.last())
		if 0 <= quiet && quiet < s.pace.probe {
			sleep(ctx, s.pace.probe-quiet, nil)
			continue
		}
		if s.ask(ctx) {
			s.heard.now(s.now())
		}
		sleep(ctx, s.pace.probe/3, nil)
	}
}

// ask reports whether the API server responds in time.
func (s *server) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.pace.answer)
	defer cancel()
	l := s.link.Load()
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
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false // from a proxy, or from a server that is starting or ending
	}
	return true
}
