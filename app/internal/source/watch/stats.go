// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stats says how well a Watcher sees. It is a snapshot.
type Stats struct {
	// Resources are sorted by name. A resource stays when nothing watches it
	// any more.
	Resources []ResourceStats
	// Requests counts what was sent to the API server, whatever for.
	Requests uint64
	// ImpossibleTimes counts the times in what was observed that were impossible, and so
	// were replaced.
	ImpossibleTimes uint64
	// Lag is for how long the stream that is furthest behind has not been
	// connected, or not caught up; 0 if all show the present. What may not be
	// read or is not offered does not count.
	Lag time.Duration
	// Heard is when the API server last gave a sign of life, which a watch on
	// which nothing changes does not; zero unless Config.Probes is set.
	Heard time.Time
}

// ResourceStats is what Stats says of one resource.
type ResourceStats struct {
	Resource schema.GroupResource
	// Streams is how many watch it now: one for each namespace, unless it is
	// watched in all; Connected of them show the present, and Unreadable may
	// not read it, or it is not offered.
	Streams, Connected, Unreadable int
	// Behind is since when the stream that is furthest behind has not shown the
	// present; zero if all do that can.
	Behind time.Time
	// Changed is when something was last observed; zero if nothing was.
	Changed time.Time
	// Lists and Watches count those that were begun; Observations what was
	// handed on.
	Lists, Watches, Observations uint64
	// Errors counts failed requests by kind: unreachable, slow, unauthorized,
	// forbidden, missing, gone, busy, server or other.
	Errors map[string]uint64
}

// errorKinds are those that ResourceStats counts.
var errorKinds = [...]string{"unreachable", "slow", "unauthorized", "forbidden", "missing", "gone", "busy", "server", "other"}

// errorKind returns the index of an error's kind.
func errorKind(err error) int {
	var network *url.Error
	var status apierrors.APIStatus
	kind := "other"
	switch {
	case errors.Is(err, errSlow), errors.Is(err, errNoAnswer), errors.Is(err, context.DeadlineExceeded):
		kind = "slow"
	case apierrors.IsUnauthorized(err):
		kind = "unauthorized"
	case apierrors.IsForbidden(err):
		kind = "forbidden"
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		kind = "missing"
	case apierrors.IsGone(err), apierrors.IsResourceExpired(err), errors.Is(err, errSetBack):
		kind = "gone"
	case apierrors.IsTooManyRequests(err):
		kind = "busy"
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		kind = "server"
	case errors.As(err, &network):
		kind = "unreachable"
	}
	return slices.Index(errorKinds[:], kind)
}

// counters are those of one resource; they outlive its streams.
type counters struct {
	lists, watches, observations atomic.Uint64
	changed                      atomic.Int64
	errors                       [len(errorKinds)]atomic.Uint64
}

func (c *counters) failed(err error) {
	if err != nil {
		c.errors[errorKind(err)].Add(1)
	}
}

func (c *counters) observed(at time.Time) {
	c.observations.Add(1)
	c.changed.Store(at.UnixNano())
}

// state is how a stream is connected: 0 if it shows the present, cannotRead
// if it may not be read or is not offered, else since when it does not (Unix nanoseconds).
type state struct{ since atomic.Int64 }

const cannotRead = -1

func (s *state) connected()  { s.since.Store(0) }
func (s *state) unreadable() { s.since.Store(cannotRead) }

func (s *state) begin(now time.Time) { s.since.Store(now.UnixNano()) }

// behind notes that the stream does not show the present any more.
func (s *state) behind(now time.Time) { s.since.CompareAndSwap(0, now.UnixNano()) }

// Stats returns a snapshot. It is cheap, and safe to call at any time.
func (w *Watcher) Stats() Stats {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := Stats{Requests: w.requests.Load(), ImpossibleTimes: w.impossible.Load(), Resources: make([]ResourceStats, 0, len(w.counters))}
	at := make(map[schema.GroupResource]int, len(w.counters))
	if w.probes {
		out.Heard = w.heard.last()
	}
	for gr, c := range w.counters {
		at[gr] = len(out.Resources)
		out.Resources = append(out.Resources, c.stats(gr))
	}
	for k, s := range w.streams {
		behind := out.Resources[at[k.GroupResource]].add(s)
		if !behind.IsZero() {
			out.Lag = max(out.Lag, now.Sub(behind))
		}
	}
	slices.SortFunc(out.Resources, func(a, b ResourceStats) int {
		return cmp.Or(cmp.Compare(a.Resource.Group, b.Resource.Group), cmp.Compare(a.Resource.Resource, b.Resource.Resource))
	})
	return out
}

// add counts a stream and returns since when it is behind, or zero.
func (r *ResourceStats) add(s *stream) (behind time.Time) {
	r.Streams++
	switch since := s.state.since.Load(); since {
	case 0:
		r.Connected++
		return time.Time{}
	case cannotRead:
		r.Unreadable++
		return time.Time{}
	default:
		behind = time.Unix(0, since)
	}
	if r.Behind.IsZero() || behind.Before(r.Behind) {
		r.Behind = behind
	}
	return behind
}

func (c *counters) stats(gr schema.GroupResource) ResourceStats {
	r := ResourceStats{
		Resource: gr, Lists: c.lists.Load(), Watches: c.watches.Load(), Observations: c.observations.Load(),
	}
	if at := c.changed.Load(); at != 0 {
		r.Changed = time.Unix(0, at)
	}
	for i := range c.errors {
		if n := c.errors[i].Load(); n > 0 {
			if r.Errors == nil {
				r.Errors = map[string]uint64{}
			}
			r.Errors[errorKinds[i]] = n
		}
	}
	return r
}

// countersOf returns those of a resource; w.mu must be held.
func (w *Watcher) countersOf(gr schema.GroupResource) *counters {
	c := w.counters[gr]
	if c == nil {
		c = new(counters)
		w.counters[gr] = c
	}
	return c
}
