// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kube-lifeline/lifeline/app/internal/received"
)

// complete is the share above which a source counts as complete: a component loses some spans under
// load, and its queue does not report them.
const complete = 0.95

// share returns the part that arrived; 0 of nothing.
func share(r received.Rate) float64 {
	if r.Of == 0 {
		return 0
	}
	return min(float64(r.With)/float64(r.Of), 1)
}

// interval returns the true share with 95 % confidence, for a random sample: Wilson's score
// interval.
func interval(r received.Rate) (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	const z = 1.96
	n, p := float64(r.Of), share(r)
	centre := p + z*z/(2*n)
	spread := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return max((centre-spread)/scale, 0), min((centre+spread)/scale, 1)
}

// words describes a share of things: "about 1 % (3 of 310 writes; 0.3 to 2.8 %)".
func words(r received.Rate, things string) string {
	switch {
	case r.With >= r.Of:
		return fmt.Sprintf("all of %d %s", r.Of, things)
	case r.With == 0:
		return fmt.Sprintf("none of %d %s", r.Of, things)
	}
	low, high := interval(r)
	return fmt.Sprintf("about %s %% (%d of %d %s; %s to %s %%)", percent(share(r)), r.With, r.Of, things, percent(low),
		percent(high))
}

// percent formats two significant figures, or whole percents.
func percent(p float64) string {
	p *= 100
	if p > 0 && p < 0.05 {
		return "<0.1"
	}
	if p < 9.95 || p > 99 && p < 100 {
		return strconv.FormatFloat(math.Round(p*10)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(p), 'f', -1, 64)
}
