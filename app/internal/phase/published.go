// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Ready returns the time at which the Pod of t was ready, by v, the version in which it was.
func Ready(facts Facts, t *change.Timeline, v *history.Version) history.Moment {
	if c := v.Condition(judge.PodReady); c != nil {
		return facts.StoredIn(t, v, c.Since)
	}
	return facts.Stored(t, v)
}

// Published appends the steps from the readiness of a Pod to its publications. ready is the time, and
// rv the resourceVersion, of the readiness. There is no step for a Service that publishes Pods before
// they are ready.
func Published(out []Step, ready history.Moment, rv uint64, all []change.Publication) []Step {
	for i := range all {
		p := &all[i]
		if p.Baseline || p.RV <= rv {
			continue
		}
		out = append(out, Step{
			name: span.NamePublish, service: kind.EndpointSlice.Controller, key: p.Service,
			start: p.Since(ready), end: p.At,
			attrs: []attribute.KeyValue{span.KeyService.String(span.Bound(p.Service))},
		})
	}
	return out
}
