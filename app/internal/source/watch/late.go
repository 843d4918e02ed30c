// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// errSetBack means that the storage has not reached a version that was already observed, as after a
// restore from a backup. A watch from that version would be silent.
var errSetBack = errors.New("the API server's storage is older than the observed state")

// pulse is the time of the last sign of life of a stream's watch.
type pulse struct{ at time.Time }

func (p *pulse) beat() { p.at = time.Now() }

// missed reports whether the stream had no sign of life for longer than after. The monotonic clock
// stops while the machine sleeps, so the wall clock counts, too. A jump of the wall clock costs one
// request.
func (p *pulse) missed(after time.Duration) bool {
	if p.at.IsZero() {
		return false
	}
	now := time.Now()
	return now.Sub(p.at) > after || now.Round(0).Sub(p.at.Round(0)) > after
}

// opened determines the late changes of a new watch: all that was stored before now, if the stream
// had no watch until now. The request follows the opening, so changes between the two count as
// late. The reverse order would count changes during a slow opening as live.
func (s *stream) opened(ctx context.Context) error {
	if !s.behind && !s.pulse.missed(s.w.pace.late) {
		s.pulse.beat()
		s.caughtUp()
		return nil
	}
	p, err := s.listPage(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	stored, err := strconv.ParseUint(p.version, 10, 64)
	if err == nil && stored < s.number() {
		return errSetBack
	}
	s.behind, s.late = true, stored
	s.state.behind(s.w.now())
	s.pulse.beat()
	s.checkCaughtUp()
	return nil
}

// changed is called after changes that the receiver has taken since began. A slow receiver makes the
// remaining changes late.
func (s *stream) changed(ctx context.Context, began pulse) error {
	if began.missed(s.w.pace.late) {
		return s.opened(ctx)
	}
	s.checkCaughtUp()
	return nil
}

// isLate reports whether the watched object was stored before the watch was opened.
func (s *stream) isLate(state *observation.State, event *observation.Event) bool {
	if state != nil {
		return state.ResourceVersion <= s.late
	}
	return event.ResourceVersion <= s.late
}

// number returns the reached version as a number, or 0 if it is not numeric.
func (s *stream) number() uint64 {
	n, err := strconv.ParseUint(s.version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// checkCaughtUp marks the stream as caught up when all late changes have arrived.
func (s *stream) checkCaughtUp() {
	if s.behind && s.number() >= s.late {
		s.caughtUp()
	}
}

// disconnected records the end of the watch.
func (s *stream) disconnected() {
	s.lost = time.Now()
	s.state.behind(s.w.now())
}

// caughtUp records that the stream shows the present from now on.
func (s *stream) caughtUp() {
	s.behind = false
	s.state.connected()
	s.ready.Do(s.w.oneSynced)
}
