// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// shortPause is the minimum length of a pause of a Job that is a phase.
const shortPause = time.Second

// podFailed is the failure of a Pod, with the resourceVersion of the first version that shows it.
type podFailed struct {
	pod *change.Reconciliation
	rv  uint64
}

// failures returns the failures of Pods in order.
func failures(pods []*change.Reconciliation) []podFailed {
	var out []podFailed
	for _, p := range pods {
		if v := p.FailedBefore(^uint64(0)); v != nil && p.Done {
			out = append(out, podFailed{p, v.ResourceVersion})
		}
	}
	slices.SortFunc(out, func(a, b podFailed) int { return cmp.Compare(a.rv, b.rv) })
	return out
}

// retryPauses returns the pauses of a Job between the failure of a Pod and the next Pod.
func (s *Steps) retryPauses(r *change.Reconciliation) []Step {
	var pods []*change.Reconciliation
	for _, c := range r.Children {
		if last := c.Timeline.Last(); c.Verb == history.Created && last != nil && last.Pod != nil {
			s.from.Conclude(c)
			pods = append(pods, c)
		}
	}
	slices.SortFunc(pods, func(a, b *change.Reconciliation) int { return cmp.Compare(a.First().RV, b.First().RV) })
	var out []Step
	next := 1
	for _, f := range failures(pods) {
		failed := f.pod
		for next < len(pods) && pods[next].First().RV < f.rv {
			next++ // created before the failure
		}
		p := Step{
			name: span.NameRetry, service: kind.Job.Controller, attempt: len(out) + 1, start: failed.Ended.At,
		}
		if next < len(pods) {
			p.end = s.from.Times.Began(pods[next].First())
			next++
		} else if r.Done {
			break
		}
		if !p.end.Known() || p.end.At().Sub(p.start.At().Time) >= shortPause {
			out = append(out, p)
		}
	}
	return out
}
