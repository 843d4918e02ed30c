// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// listings is the number of times that the list of problems is read.
const listings = 20

// problems waits until the list has a problem for each cause, with all its objects. It returns the times of further
// reads, in their order.
func (s *server) problems(t *testing.T, size scale) []time.Duration {
	t.Helper()
	var times []time.Duration
	read := func() (problems, objects int) {
		began := time.Now()
		text, err := s.Read(t, s.API, "/api/v1/problems")
		times = append(times, time.Since(began))
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		var list struct {
			Problems []struct {
				Count int `json:"count"`
			} `json:"problems"`
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Error(err)
		}
		for _, p := range list.Problems {
			objects += p.Count
		}
		return len(list.Problems), objects
	}
	harness.Eventually(t, "a problem for each cause", func() bool {
		s.Alive(t)
		problems, objects := read()
		return problems == size.causes && objects == size.broken
	})
	times = nil
	for range listings {
		read()
	}
	return times
}

// median returns the middle of some times.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// millis rounds a time for a table.
func millis(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
