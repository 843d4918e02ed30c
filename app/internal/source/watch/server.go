// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// server is the API server for all streams: the connection to it, and its signs of life.
type server struct {
	now      func() time.Time
	pace     *pace
	warnings *warnings
	outage   outage
	heard    heard

	link     atomic.Pointer[link]
	requests atomic.Uint64
	rest     *rest.Config
	reload   func() (*rest.Config, error)
	// renewing guards renewed, the time of the last attempt to renew the credentials.
	renewing sync.Mutex
	renewed  time.Time
}

// newServer prepares the connection, which connects on first use.
func newServer(cfg Config, p *pace, w *warnings) (*server, error) {
	s := &server{now: cfg.Now, pace: p, warnings: w, rest: rest.CopyConfig(cfg.REST), reload: cfg.Reload}
	first, err := dial(s.rest, &s.requests)
	if err != nil {
		return nil, err
	}
	s.link.Store(first)
	return s, nil
}

// answered records that the server works.
func (s *server) answered() {
	s.heard.now(s.now())
	s.warnings.again(unreachable)
	s.outage.found()
}
