// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// attach appends a step for each volume of the Pod that was attached to its Node after the binding. It returns the
// time of the last attachment, or else of the binding: the kubelet waits for both.
func (s *podStory) attach(out []Step, bound history.Moment) ([]Step, history.Moment) {
	last := bound
	for _, t := range s.from.Attachments(s.r.Timeline) {
		p, waited := s.attachment(t, bound)
		if !waited {
			continue
		}
		if out = append(out, p); p.end.Known() && p.end.At().After(last.At().Time) {
			last = p.end
		}
	}
	return out, last
}

// attachment returns the step of one attachment, and whether the Pod had to wait for it. The last error stays the
// message, because it explains the length.
func (s *podStory) attachment(t *change.Timeline, bound history.Moment) (Step, bool) {
	volume, _ := change.Related(t, object.Volume)
	p := Step{
		name: span.NameAttach, service: change.Reconciler(t), key: volume.Name, start: bound,
		attrs: []attribute.KeyValue{span.KeyVolume.String(span.Bound(volume.Name))},
	}
	if first := t.Versions[0]; !first.Baseline {
		if made := s.from.Times.Stored(t, first); made.At().After(bound.At().Time) {
			p.start = made
		}
	}
	for _, v := range t.Versions {
		if judge.Converged(v) {
			p.end = s.from.Times.Stored(t, v)
			return p, !v.Baseline && p.end.At().After(bound.At().Time)
		}
		if r := reason.Of(v, nil); r.Category != "" && v.Deleting.IsZero() {
			p.message = r.Text
		}
	}
	p.failed = p.message != ""
	return p, t.Removal == nil && s.ready == nil
}
