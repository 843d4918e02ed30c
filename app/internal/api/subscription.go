// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strconv"
	"sync"
)

// maxPending bounds the waiting traces of a stream beside its first ones. A waiting version is
// shared by all streams.
const maxPending = 4096

// subscription holds the latest version of each trace that waits for one stream.
type subscription struct {
	// wake has a token if a version waits, or if all are lost.
	wake chan struct{}
	most int
	// run is that of the Hub.
	run string

	mu      sync.Mutex
	pending map[key]*version
	order   []key
	lost    bool
	// last is the highest number of an update so far.
	last uint64
}

func newSubscription(most int, run string, last uint64) *subscription {
	return &subscription{
		wake: make(chan struct{}, 1), most: most, run: run, last: last, pending: map[key]*version{},
	}
}

// place returns the event ID of a stream that has sent all updates so far, or "" while some wait. While
// some wait there is none, since the latest version of a trace takes the place of earlier ones.
func (s *subscription) place() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost || len(s.order) > 0 {
		return ""
	}
	return s.run + placeSeparator + strconv.FormatUint(s.last, 10)
}

// placeSeparator stands between the two parts of an event ID.
const placeSeparator = "-"

// put adds versions, and does not wait.
func (s *subscription) put(versions []*version) {
	if len(versions) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range versions {
		if s.lost {
			break
		}
		s.last = max(s.last, v.number)
		if s.pending[v.key()] == nil {
			s.order = append(s.order, v.key())
		}
		s.pending[v.key()] = v
		if len(s.order) > s.most {
			s.lost, s.pending, s.order = true, nil, nil
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns the version that has waited longest, or nil. lost means that too many waited and
// were dropped.
func (s *subscription) take() (v *version, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost || len(s.order) == 0 {
		return nil, s.lost
	}
	id := s.order[0]
	s.order = s.order[1:]
	v = s.pending[id]
	delete(s.pending, id)
	return v, false
}

// waiting is the number of waiting traces.
func (s *subscription) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.order)
}
