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

// Stats describes the state of a Watcher at one moment.
type Stats struct {
	// Resources are sorted by group and name. A resource stays after its last stream has ended.
	Resources []ResourceStats
	// Requests counts all requests to the API server.
	Requests uint64
	// ImpossibleTimes counts the impossible times in observations, which were replaced.
	ImpossibleTimes uint64
	// Lag is how long the stream that is furthest behind has been disconnected or catching up. 0
	// means that all streams show the present. Unreadable resources do not count.
	Lag time.Duration
	// Heard is the time of the API server's last sign of life; an idle watch gives none. Zero
	// unless Config.Probes is set.
	Heard time.Time
	// Silent are the kinds with objects that show nothing of their state, as Kind.group.
	Silent []string
}

// ResourceStats is the part of Stats for one resource.
type ResourceStats struct {
	Resource schema.GroupResource
	// Streams is the number of streams now: one for each namespace, or one for all namespaces.
	// Connected streams show the present. Unreadable streams are forbidden, or their resource is
	// not offered.
	Streams, Connected, Unreadable int
	// Behind is since when the stream that is furthest behind has not shown the present. Zero means
	// that no readable stream is behind.
	Behind time.Time
	// Changed is the time of the last observation; zero means none.
	Changed time.Time
	// Delay is the longest time from a write to its observation in the last half minute, by the API
	// server's clock and in whole seconds. 0 means no known delay, or no changes.
	Delay time.Duration
	// Lists and Watches count the started requests. Observations counts the emitted observations.
	Lists, Watches, Observations uint64
	// Errors counts failed requests by kind: unreachable, slow, unauthorized,
	// forbidden, missing, gone, busy, server or other.
	Errors map[string]uint64
}

// errorKinds are the keys of ResourceStats.Errors.
var errorKinds = [...]string{
	"unreachable", "slow", "unauthorized", "forbidden", "missing", "gone", "busy", "server", "other",
}

// errorKind returns the index of the error's kind in errorKinds.
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

// counters belong to one resource and outlive its streams.
type counters struct {
	lists, watches, observations atomic.Uint64
	changed                      atomic.Int64
	delay                        delay
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

// state is the connection state of a stream. 0 means that it shows the present. cannotRead means
// that the resource is forbidden or not offered. Any other value is the time since when it is
// behind (Unix nanoseconds).
type state struct{ since atomic.Int64 }

const cannotRead = -1

func (s *state) connected()  { s.since.Store(0) }
func (s *state) unreadable() { s.since.Store(cannotRead) }

func (s *state) begin(now time.Time) { s.since.Store(now.UnixNano()) }

// behind records that the stream no longer shows the present.
func (s *state) behind(now time.Time) { s.since.CompareAndSwap(0, now.UnixNano()) }

// Stats returns a snapshot. The call is cheap and safe at any time.
func (w *Watcher) Stats() Stats {
	out := Stats{Requests: w.server.requests.Load(), ImpossibleTimes: w.converter.impossible.Load()}
	if w.probes {
		out.Heard = w.server.heard.last()
	}
	for _, of := range w.converter.normalizer.Signals.Silent() {
		out.Silent = append(out.Silent, of.String())
	}
	out.Resources, out.Lag = w.roster.stats(w.now())
	return out
}

// reads reports whether a stream of the resource runs and is not known to be unreadable.
func (r *roster) reads(gr schema.GroupResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.streams {
		if k.GroupResource == gr && s.state.since.Load() != cannotRead {
			return true
		}
	}
	return false
}

// stats returns the state of all resources, and the lag of the stream that is furthest behind.
func (r *roster) stats(now time.Time) (out []ResourceStats, lag time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out = make([]ResourceStats, 0, len(r.counters))
	at := make(map[schema.GroupResource]int, len(r.counters))
	for gr, c := range r.counters {
		at[gr] = len(out)
		out = append(out, c.stats(gr, now))
	}
	for k, s := range r.streams {
		behind := out[at[k.GroupResource]].addStream(s)
		if !behind.IsZero() {
			lag = max(lag, now.Sub(behind))
		}
	}
	slices.SortFunc(out, func(a, b ResourceStats) int {
		return cmp.Or(
			cmp.Compare(a.Resource.Group, b.Resource.Group), cmp.Compare(a.Resource.Resource, b.Resource.Resource),
		)
	})
	return out, lag
}

// addStream counts a stream. It returns since when the stream is behind, or zero.
func (r *ResourceStats) addStream(s *stream) (behind time.Time) {
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

func (c *counters) stats(gr schema.GroupResource, now time.Time) ResourceStats {
	r := ResourceStats{
		Resource: gr, Lists: c.lists.Load(), Watches: c.watches.Load(), Observations: c.observations.Load(),
		Delay: c.delay.get(now),
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
