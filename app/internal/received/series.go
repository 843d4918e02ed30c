// SPDX-License-Identifier: Apache-2.0

package received

import "time"

// minutes is the length of a series.
const minutes = 15

// series counts by minute. The zero value is empty.
type series struct {
	counts [minutes]int64
	// at is the minute, since 1970, of the last count.
	at int64
}

// count counts n at now. If the clock was set back, it counts n in the latest minute.
func (s *series) count(n int64, now time.Time) {
	s.advance(now)
	s.counts[s.at%minutes] += n
}

// sum returns the count of the last 15 minutes, including the current one.
func (s *series) sum(now time.Time) int64 {
	s.advance(now)
	var n int64
	for _, c := range s.counts {
		n += c
	}
	return n
}

func (s *series) advance(now time.Time) {
	to := max(now.Unix()/60, 0)
	if to-s.at >= minutes {
		s.counts, s.at = [minutes]int64{}, to
		return
	}
	for s.at < to {
		s.at++
		s.counts[s.at%minutes] = 0
	}
}
