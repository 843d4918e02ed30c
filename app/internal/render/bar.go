// SPDX-License-Identifier: Apache-2.0

package render

import (
	"math"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scale maps the time of a trace to the cells of a bar.
type scale struct {
	start time.Time
	total time.Duration
	now   time.Time
}

// newScale returns a scale from the first start to the last end of t. An aftermath is far later, and not drawn.
func newScale(t *span.Trace, now time.Time) scale {
	sc := scale{now: now}
	var end time.Time
	for i, s := range t.Spans {
		if s.IsAftermath() {
			continue
		}
		e := s.Start.Add(s.Duration(now))
		if i == 0 || s.Start.Before(sc.start) {
			sc.start = s.Start.Time
		}
		if i == 0 || e.After(end) {
			end = e
		}
	}
	sc.total = max(0, end.Sub(sc.start))
	return sc
}

// bar draws s in n cells by its start and length. A span shorter than a cell is a sliver.
func (sc scale) bar(s *span.Span, n int) string {
	from := min(sc.cells(s.Start.Sub(sc.start), n-1), n-1)
	long := min(sc.cells(s.Duration(sc.now), n-1), n-1-from)
	if long == 0 {
		return strings.Repeat(" ", from) + "▏"
	}
	return strings.Repeat(" ", from) + "▕" + strings.Repeat("▇", long)
}

func (sc scale) cells(d time.Duration, n int) int {
	if sc.total <= 0 || d <= 0 {
		return 0
	}
	return int(math.Round(float64(d) / float64(sc.total) * float64(n)))
}
