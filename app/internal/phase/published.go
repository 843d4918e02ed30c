// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Publication is a publication of a Pod, and the creation of its Service in whole seconds, zero if
// unknown.
type Publication struct {
	change.Publication
	Created time.Time
}

// since returns the start of the wait for p: the time at which the Pod was ready, or a later creation
// of the Service.
func (p *Publication) since(ready history.Moment) history.Moment {
	if made := history.Whole(p.Created); made.Known() && made.At().After(ready.At().Time) {
		return made
	}
	return ready
}

// Ready returns the time at which the Pod of t was ready, by v, the version in which it was.
func Ready(times Times, t *change.Timeline, v *history.Version) history.Moment {
	if c := v.Condition(judge.PodReady); c != nil {
		return times.StoredIn(t, v, c.Since)
	}
	return times.Stored(t, v)
}

// Published appends the steps from the readiness of a Pod to its publications. ready is the time,
// and rv the resourceVersion, of the readiness. A Service that publishes Pods before they are ready
// has no step.
func Published(out []Step, ready history.Moment, rv uint64, all []Publication) []Step {
	for i := range all {
		p := &all[i]
		if p.Baseline || p.RV <= rv {
			continue
		}
		out = append(out, Step{
			name: span.NamePublish, service: kind.EndpointSlice.Controller, key: p.Service,
			start: p.since(ready), end: p.At,
			attrs: []attribute.KeyValue{span.KeyService.String(span.Bound(p.Service))},
		})
	}
	return out
}
