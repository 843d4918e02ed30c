// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// shortPause is the length from which a pause of a Job is a phase.
const shortPause = time.Second

// podFailed is the failure of a Pod, with the resourceVersion that shows it.
type podFailed struct {
	pod *reconciliation
	rv  uint64
}

// failures returns the failures of Pods in their order.
func failures(pods []*reconciliation) []podFailed {
	var out []podFailed
	for _, p := range pods {
		if v := p.failedBefore(^uint64(0)); v != nil && p.done {
			out = append(out, podFailed{p, v.ResourceVersion})
		}
	}
	slices.SortFunc(out, func(a, b podFailed) int { return cmp.Compare(a.rv, b.rv) })
	return out
}

// retryPauses returns the pauses of a Job between the failure of a Pod and the next Pod.
func (d *derivation) retryPauses(r *reconciliation) []phase {
	var pods []*reconciliation
	for _, c := range r.children {
		if last := c.t.last(); c.verb == created && last != nil && last.Pod != nil {
			d.conclude(c)
			pods = append(pods, c)
		}
	}
	slices.SortFunc(pods, func(a, b *reconciliation) int { return cmp.Compare(a.first().rv, b.first().rv) })
	var out []phase
	next := 1
	for _, f := range failures(pods) {
		failed := f.pod
		for next < len(pods) && pods[next].first().rv < f.rv {
			next++ // made before the failure, beside it
		}
		p := phase{
			name: span.NameRetry, service: kind.Job.Controller, attempt: len(out) + 1, start: failed.ended.at,
		}
		if next < len(pods) {
			p.end = d.began(pods[next].first())
			next++
		} else if r.done {
			break
		}
		if !p.end.known() || p.end.at().Sub(p.start.at().Time) >= shortPause {
			out = append(out, p)
		}
	}
	return out
}
