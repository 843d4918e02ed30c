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

// errSetBack says that the storage does not know what was already seen of it,
// as after it was restored from a backup: a watch from there would be silent.
var errSetBack = errors.New("the API server's storage is older than what was seen of it")

// pulse is the last sign of life of a stream's watch.
type pulse struct{ at time.Time }

func (p *pulse) beat() { p.at = time.Now() }

// missed reports whether the stream was without a sign of life for longer. The
// monotonic clock stands still while the machine sleeps, so the wall clock is
// asked, too; one that jumps costs a request.
func (p *pulse) missed(after time.Duration) bool {
	if p.at.IsZero() {
		return false
	}
	now := time.Now()
	return now.Sub(p.at) > after || now.Round(0).Sub(p.at.Round(0)) > after
}

// opened finds out, when a watch has been opened, what it brings late: all that
// was stored by now, if the stream was without a watch until now. It asks after
// the opening, so what is stored between the two counts as late, too; the other
// way round, a slow opening would pass for live.
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

// changed is called after each change. Who takes long to take what is handed to
// him finds the rest of it late.
func (s *stream) changed(ctx context.Context) error {
	if s.pulse.missed(s.w.pace.late) {
		return s.opened(ctx)
	}
	s.checkCaughtUp()
	return nil
}

// isLate reports whether what the watch brought had been stored before it was
// opened.
func (s *stream) isLate(state *observation.State, event *observation.Event) bool {
	if state != nil {
		return state.ResourceVersion <= s.late
	}
	return event.ResourceVersion <= s.late
}

// number is the version that has been reached, as a number; 0 if it is none.
func (s *stream) number() uint64 {
	n, err := strconv.ParseUint(s.version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// checkCaughtUp notes that all that was late has come, once it has.
func (s *stream) checkCaughtUp() {
	if s.behind && s.number() >= s.late {
		s.caughtUp()
	}
}

// disconnected notes that the watch has ended.
func (s *stream) disconnected() {
	s.lost = time.Now()
	s.state.behind(s.w.now())
}

// caughtUp notes that the stream shows the present from now on.
func (s *stream) caughtUp() {
	s.behind = false
	s.state.connected()
	s.ready.Do(s.w.oneSynced)
}
