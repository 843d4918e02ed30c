// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
)

const (
	// problemPace is the shortest time between two events of a stream of problems.
	problemPace = time.Second
	// problemRenewal is the time after which a stream looks for causes that are complete by now: a finished trace and
	// an audit event come later than the problem.
	problemRenewal = 10 * time.Second
)

// problemStream serves a stream of the present problems.
func (s *Server) problemStream(w http.ResponseWriter, r *http.Request) {
	asked, err := s.request(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	of := selectionOf(asked.params)
	err = asked.params.done()
	var now problems.List
	changed := s.opts.Problems.following() // before the first list: no change is missed
	if err == nil {
		now, err = s.broken.selected(asked, of)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.stream(w, r, func(st *stream) error {
		st.request = asked
		if err := st.send([]byte(retry)); err != nil {
			return err
		}
		if err := st.event(EventProblems, now); err != nil {
			return err
		}
		beat := time.NewTicker(s.heartbeat)
		defer beat.Stop()
		for {
			if err := st.follow(r.Context(), changed, beat.C); err != nil {
				return err
			}
			if err := st.review(); err != nil {
				return err
			}
			changed = s.opts.Problems.following()
			next, err := s.broken.selected(asked, of)
			if err != nil {
				return err
			}
			if next.More == now.More && reflect.DeepEqual(next.Problems, now.Problems) {
				continue // the change is of others
			}
			now = next
			if err := st.event(EventProblems, now); err != nil {
				return err
			}
		}
	})
}

// follow returns after a change, at the earliest after the pace of the server, or after the time of a renewal.
func (st *stream) follow(ctx context.Context, changed <-chan struct{}, beat <-chan time.Time) error {
	pace := time.NewTimer(st.server.pace)
	defer pace.Stop()
	renewal := time.NewTimer(max(st.server.pace, st.server.renewal))
	defer renewal.Stop()
	due := (<-chan struct{})(nil)
	for {
		select {
		case <-ctx.Done():
			return errEnded
		case <-st.server.closing:
			return errEnded
		case <-pace.C:
			due = changed
		case <-due:
			return nil
		case <-renewal.C:
			return nil
		case <-beat:
			if err := st.send([]byte(alive)); err != nil {
				return err
			}
		}
	}
}
