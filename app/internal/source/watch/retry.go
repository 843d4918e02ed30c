// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// next says when a stream goes on.
type next int

const (
	atOnce next = iota // what comes next is another request than the last
	soon               // with a delay that grows while nothing works
	rarely             // something must change in the cluster first
)

// rareInterval is how often a resource that cannot be read is tried again.
const rareInterval = 3 * time.Minute

// healthy is how long a watch lives if nothing is wrong.
const healthy = 2 * time.Second

// unreachable is the warning of a server that does not answer.
const unreachable = "unreachable"

// judge decides how the stream goes on after its last request, and names what
// cannot be seen.
func (s *stream) judge(ctx context.Context, err error) next {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return soon // watches end; the next goes on where this one did
	case apierrors.IsForbidden(err):
		if s.isEvents() && s.resource != coreEvents {
			s.resource = coreEvents
			return atOnce
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
		s.w.warnings.once(unreachable, "the API server does not accept the credentials any more; trying again")
		return soon
	case errors.Is(err, errNoAnswer):
		s.inexact = true
		return atOnce
	case s.exact() && errors.As(err, &status) && status.Status().Code != http.StatusServiceUnavailable:
		s.inexact = true
		return atOnce
	}
	var network *url.Error
	if errors.As(err, &network) {
		s.w.warnings.once(unreachable, "cannot reach the API server: %v; trying again", network.Err)
	} else {
		s.w.warnings.once("read "+s.what(), "cannot watch %s: %v; trying again", s.what(), err)
	}
	return soon
}

// settle counts the stream as listed; what it could not see is being said.
func (s *stream) settle() {
	s.ready.Do(s.w.oneSynced)
	s.w.settled() // for a stream that had been listed before
}

// retry paces the requests of one stream.
type retry struct{ delay wait.DelayFunc }

func newRetry() *retry {
	r := new(retry)
	r.reset()
	return r
}

func (r *retry) reset() {
	r.delay = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 9, Cap: 10 * time.Second}.DelayFunc()
}

// wait waits as long as n asks for, after a request that took that long.
func (r *retry) wait(ctx context.Context, n next, took time.Duration) {
	var pause time.Duration
	switch {
	case n == rarely:
		pause = rareInterval
	case n == atOnce:
		return
	case took > healthy:
		r.reset()
	default:
		pause = r.delay()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
