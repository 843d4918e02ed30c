// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// hasAddress reports whether the status of the kind has the address of a load balancer.
func hasAddress(v *history.Version) bool { return kind.Service.Is(v.Kind) || kind.Ingress.Is(v.Kind) }

// address returns the wait of a Service or an Ingress for the address of its load balancer; nothing if r had
// one from its begin on, or needs none.
func (s *Steps) address(r *change.Reconciliation) []Step {
	first := r.First().Version
	if r.Verb == history.Deleted || first == nil || judge.Converged(first) {
		return nil
	}
	p := Step{name: span.NameAddress, start: s.from.Times.Start(r)}
	until := ^uint64(0)
	if r.Superseded != nil {
		until = r.Superseded.RV
	}
	switch v := r.ConvergedBy(until); {
	case v != nil:
		p.service, p.end = setter(r.Timeline, v), s.from.Times.Stored(r.Timeline, v)
	case r.Done:
		return nil
	}
	return []Step{p}
}
