// SPDX-License-Identifier: Apache-2.0

package reason

import "github.com/kube-lifeline/lifeline/app/internal/history"

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
			return r
		}
	}
	return Reason{}
}
