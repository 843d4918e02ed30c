// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// Wait is a time in which an object had one reason.
type Wait struct {
	Reason
	// Since is the time of the first version or Event with the reason; zero if the history begins with it.
	// Until is the time of the next reason; zero for the present one.
	Since, Until time.Time
}

// Waits returns the reasons of an object, oldest first. The last one is the present one: the Events
// belong to it. A short time in which the object had its desired state ends no reason, nor do short ordinary
// waits, as between two attempts to pull an image.
func Waits(versions []*history.Version, events []*history.Event) []Wait {
	var out []Wait
	var arrived time.Time
	for _, v := range versions {
		if judge.Converged(v) {
			if arrived.IsZero() {
				arrived = v.Seen
			}
			continue
		}
		if !arrived.IsZero() && v.Seen.Sub(arrived) > judge.Steady {
			out = nil
		}
		arrived = time.Time{}
		r := Of(v, nil)
		if n := len(out); n > 0 {
			last := &out[n-1]
			if last.same(r) {
				last.Reason = r
				continue
			}
			last.Until = v.Seen
		}
		w := Wait{Reason: r}
		if !v.Baseline && !v.Listed {
			w.Since = v.Seen
		}
		out = append(resumed(out, &w), w)
	}
	if n := len(out); n > 0 && arrived.IsZero() {
		v, last := versions[len(versions)-1], &out[n-1]
		now := Of(v, events)
		if at := firstShown(v, events, now); last.Category == "" && now.Category != "" && at.After(last.Since) {
			last.Until = at
			return append(out, Wait{Reason: now, Since: at})
		}
		last.Reason = now
	}
	return out
}

// lull is the time of ordinary waits that does not end a reason.
const lull = time.Minute

// resumed returns the waits before w without those since the reason of w stopped for a lull, and gives w their
// beginning.
func resumed(waits []Wait, w *Wait) []Wait {
	if w.Category == "" {
		return waits
	}
	for i := len(waits) - 1; i >= 0; i-- {
		switch before := &waits[i]; {
		case before.same(w.Reason) && i < len(waits)-1 && w.Since.Sub(before.Until) <= lull:
			w.Since = before.Since
			return waits[:i]
		case before.Category != "":
			return waits
		}
	}
	return waits
}

// firstShown returns the time of the first Event that alone gives v the reason; zero if there is none.
func firstShown(v *history.Version, events []*history.Event, r Reason) time.Time {
	var first time.Time
	for _, e := range events {
		if of := Of(v, []*history.Event{e}); of.Category == "" || !of.same(r) {
			continue
		}
		if at := e.At().At().Time; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// same reports whether two reasons are one wait.
func (r Reason) same(other Reason) bool {
	if r.Category != "" || other.Category != "" {
		return r.Category == other.Category && r.Container == other.Container
	}
	return r.For == other.For
}
