// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// next is the time of the stream's next request.
type next int

const (
	atOnce next = iota // the next request differs from the last one
	soon               // after a delay that grows with each failure
	rarely             // only a change in the cluster can help
)

// rareInterval is the retry interval of an unreadable resource.
const rareInterval = 3 * time.Minute

// healthy is the minimum lifetime of a healthy watch.
const healthy = 2 * time.Second

// unreachable is the warning key of a server that does not respond. unaccepted is that of a server
// that rejects the credentials.
const (
	unreachable = "unreachable"
	unaccepted  = "unaccepted"
)

// judge decides when the stream continues after its last request, and warns of missing access.
func (s *stream) judge(ctx context.Context, err error) next {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return soon // watches end; the next one continues from the same version
	case apierrors.IsForbidden(err):
		if isEvents(s.read.resource) && s.read.resource != coreEvents {
			s.read.resource = coreEvents
			return atOnce
		}
		return s.deny(func() { s.warnings.forbidden(s.read.resource.GroupResource(), s.namespace) })
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		if other, ok := s.known.otherVersion(ctx, s.read.resource); ok {
			s.read.resource = other
			return atOnce
		}
		return s.deny(func() {
			what := s.read.String()
			s.warnings.once("offer "+what, "cannot watch %s: the API server does not offer it", what)
		})
	case apierrors.IsTooManyRequests(err):
		return soon
	case apierrors.IsGone(err), apierrors.IsResourceExpired(err):
		s.progress.expire()
		return soon
	case apierrors.IsUnauthorized(err):
		if s.server.renew(s.read.link) {
			return atOnce
		}
		// A longer delay would bring this stream's changes back last.
		s.unreached()
		s.contact.refuse()
		s.warnings.once(unaccepted, "the API server does not accept the credentials any more; trying again")
		return soon
	case errors.Is(err, apiproto.ErrUnreadable):
		s.read.jsonOnly = true
		return atOnce
	case errors.Is(err, errNoAnswer):
		s.progress.inexact()
		return atOnce
	case errors.Is(err, errSetBack):
		s.warnings.once("set back", "%v: comparing all that is there with what was", err)
		s.progress.expire()
		return atOnce
	case errors.Is(err, errSlow):
		s.unreached()
		s.warnings.once(unreachable, "%v; trying again", err)
		return soon
	case s.progress.stage == startAt && errors.As(err, &status) &&
		status.Status().Code != http.StatusServiceUnavailable:
		s.progress.inexact()
		return atOnce
	}
	return s.fail(err)
}

// deny decides after a response that shows no access. The resource counts as listed then, and the
// warning shows the missing access.
func (s *stream) deny(warn func()) next {
	if s.contact.isStarting(time.Now()) {
		return soon
	}
	if !s.quiet {
		warn()
	}
	s.state.unreadable()
	s.ready()
	s.pending.settled() // for a stream that had been listed before
	return rarely
}

// fail decides after an error of the server or of the connection.
func (s *stream) fail(err error) next {
	if apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) {
		s.unreached()
	}
	var network *url.Error
	if !errors.As(err, &network) {
		what := s.read.String()
		s.warnings.once("read "+what, "cannot watch %s: %v; trying again", what, err)
		return soon
	}
	if untrusted(err) && s.server.renew(s.read.link) {
		return atOnce
	}
	s.unreached()
	s.warnings.once(unreachable, "cannot reach the API server: %v; trying again", network.Err)
	return soon
}

// unreached records that the server gave no useful response.
func (s *stream) unreached() {
	s.contact.lose(time.Now())
	s.server.outage.lost()
}

// answered records that the server works and accepts the credentials.
func (s *stream) answered() {
	if s.contact.accept() {
		s.warnings.again(unaccepted)
	}
	s.server.answered()
}

// retry paces the requests of one stream.
type retry struct{ delay wait.DelayFunc }

func newRetry() *retry {
	r := new(retry)
	r.reset()
	return r
}

func (r *retry) reset() {
	r.delay = wait.Backoff{
		Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 5 * time.Second,
	}.DelayFunc()
}

// wait waits as long as n requires, and at least atLeast, the server's Retry-After. The end of an
// outage cuts the wait short. A short random pause then spreads the requests of the streams.
func (r *retry) wait(ctx context.Context, n next, atLeast time.Duration, over <-chan struct{}) {
	var pause time.Duration
	switch n {
	case rarely:
		pause, over = rareInterval, nil
	case atOnce:
		return
	default:
		pause = r.delay()
	}
	if atLeast > 0 {
		pause, over = max(pause, atLeast), nil
	}
	if !sleep(ctx, pause, over) {
		return
	}
	r.reset()
	sleep(ctx, rand.N(spread), nil) //nolint:gosec // spreads load
}

// sleep reports whether over cut it short.
func sleep(ctx context.Context, d time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
		return true
	}
	return false
}
