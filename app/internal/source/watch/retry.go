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
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// startingUp is how long refusals count as temporary after the server was lost.
const startingUp = 30 * time.Second

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
		if s.isEvents() && s.resource != coreEvents {
			s.serve(coreEvents)
			return atOnce
		}
		if s.starting() {
			return soon
		}
		if !s.quiet {
			s.w.warnings.forbidden(s.resource.GroupResource(), s.namespace)
		}
		s.settle()
		return rarely
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		if s.otherVersion(ctx) {
			return atOnce
		}
		if s.starting() {
			return soon
		}
		if !s.quiet {
			s.w.warnings.once("offer "+s.what(), "cannot watch %s: the API server does not offer it", s.what())
		}
		s.settle()
		return rarely
	case apierrors.IsTooManyRequests(err):
		return soon
	case apierrors.IsGone(err), apierrors.IsResourceExpired(err):
		if s.version != "" {
			s.version = ""
			return soon
		}
		s.inexact = true
		return soon
	case apierrors.IsUnauthorized(err):
		if s.w.renew(s.link) {
			return atOnce
		}
		// A longer delay would bring this stream's changes back last.
		s.unreached()
		s.refused = true
		s.w.warnings.once(unaccepted, "the API server does not accept the credentials any more; trying again")
		return soon
	case errors.Is(err, apiproto.ErrUnreadable):
		s.jsonOnly = true
		return atOnce
	case errors.Is(err, errNoAnswer):
		s.inexact = true
		return atOnce
	case errors.Is(err, errSetBack):
		s.w.warnings.once("set back", "%v: comparing all that is there with what was", err)
		s.version = ""
		return atOnce
	case errors.Is(err, errSlow):
		s.unreached()
		s.w.warnings.once(unreachable, "%v; trying again", err)
		return soon
	case s.exact() && errors.As(err, &status) && status.Status().Code != http.StatusServiceUnavailable:
		s.inexact = true
		return atOnce
	}
	if apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) {
		s.unreached()
	}
	var network *url.Error
	if errors.As(err, &network) {
		if untrusted(err) && s.w.renew(s.link) {
			return atOnce
		}
		s.unreached()
		s.w.warnings.once(unreachable, "cannot reach the API server: %v; trying again", network.Err)
	} else {
		s.w.warnings.once("read "+s.what(), "cannot watch %s: %v; trying again", s.what(), err)
	}
	return soon
}

// settle counts the stream as listed. The warning shows the missing access.
func (s *stream) settle() {
	s.state.unreadable()
	s.ready.Do(s.w.oneSynced)
	s.w.settled() // for a stream that had been listed before
}

// unreached records that the server gave no useful response.
func (s *stream) unreached() {
	s.lost = time.Now()
	s.w.outage.lost()
}

// answered records that the server works and accepts the credentials.
func (s *stream) answered() {
	if s.refused {
		s.refused = false
		s.w.warnings.again(unaccepted)
	}
	s.w.answered()
}

// starting reports whether a refusal may be due to the server's start. At first, a new server does
// not have all rights and kinds loaded.
func (s *stream) starting() bool {
	return !s.lost.IsZero() && time.Since(s.lost) < startingUp
}

// serve switches the stream to another version of its resource.
func (s *stream) serve(r schema.GroupVersionResource) { s.resource = r }

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
