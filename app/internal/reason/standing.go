// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// Standing returns the reason why v, an object in its desired state, does not work: a Service without
// ready endpoints, a suspended CronJob, an autoscaler without a metric, a volume without its claim. It is
// a note for an object that works as declared, but not as one may expect. It is empty for any other
// object. owned are the newest versions of the objects that v owns, and events the Events about v.
func Standing(v *history.Version, owned []*history.Version, events []*history.Event) Reason {
	if !v.Deleting.IsZero() {
		return Reason{}
	}
	for _, r := range []Reason{
		endpoints(v, owned), unaddressed(v), schedule(v, events), autoscaler(v), budget(v), nodeless(v),
		former(v), cordoned(v), storage(v, events), application(v), evictedPod(v, events),
	} {
		if r.Text != "" {
			r.Since = standingSince(r, v, owned, events)
			return r
		}
	}
	return Reason{}
}

// standingSince returns the time from which v surely has the reason; zero if nothing shows it. The dependants of a
// Service show its reason, so it lasts at least since their newest write.
func standingSince(r Reason, v *history.Version, owned []*history.Version, events []*history.Event) time.Time {
	switch r.Category {
	case EndpointsUnready, NoEndpoints, PortMissing:
		at := v.Created
		for _, o := range owned {
			if o.Endpoints != nil {
				at = history.Later(at, history.Alive(o))
			}
		}
		return at
	}
	if at := Found(r, v); !at.IsZero() {
		return at
	}
	var first time.Time
	for _, e := range events {
		one := []*history.Event{e}
		for _, of := range []Reason{schedule(v, one), storage(v, one)} {
			if at := e.At().At().Time; of.Category == r.Category && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}
