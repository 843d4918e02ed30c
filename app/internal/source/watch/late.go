// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errSetBack means that the storage has not reached a version that was already observed, as after a
// restore from a backup. A watch from that version would be silent.
var errSetBack = errors.New("the API server's storage is older than the observed state")

// opened determines the late changes of a new watch: all that was stored before now, if the stream
// had no watch until now. The request follows the opening, so changes between the two count as
// late. The reverse order would count changes during a slow opening as live.
func (s *stream) opened(ctx context.Context) error {
	if s.lag.isLive(s.pace.late) {
		s.lag.pulse.beat()
		s.caughtUp()
		return nil
	}
	p, err := s.read.page(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	stored, err := strconv.ParseUint(p.version, 10, 64)
	if err == nil && stored < s.progress.emitted {
		return errSetBack
	}
	s.lag.catchUp(stored)
	s.state.behind(s.now())
	s.checkCaughtUp()
	return nil
}

// changed is called after changes that the receiver has taken since began. A slow receiver makes the
// remaining changes late.
func (s *stream) changed(ctx context.Context, began pulse) error {
	if began.missed(s.pace.late) {
		return s.opened(ctx)
	}
	s.checkCaughtUp()
	return nil
}

// checkCaughtUp marks the stream as caught up when all late changes have arrived.
func (s *stream) checkCaughtUp() {
	if s.lag.isAt(s.progress.emitted) {
		s.caughtUp()
	}
}

// caughtUp records that the stream shows the present from now on.
func (s *stream) caughtUp() {
	s.lag.caughtUp()
	s.state.connected()
	s.ready()
}

// disconnected records the end of the watch.
func (s *stream) disconnected() {
	if s.lag.delivery == catchingUp {
		s.lag.fallBehind()
	}
	s.contact.lose(time.Now())
	s.state.behind(s.now())
}
