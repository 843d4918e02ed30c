// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/ending"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// Standing returns the reason why an object in its desired state does not work; see reason.Standing.
// It is empty for an unknown object, and for one that has not converged.
func (e *Engine) Standing(uid types.UID) reason.Reason {
	known := e.index.View()
	t := known.Object(uid)
	if t == nil || t.Removal != nil {
		return reason.Reason{}
	}
	last := t.Last()
	if last == nil || !judge.Converged(last) {
		return reason.Reason{}
	}
	return standing(known, t, ending.NewReasons(known, ending.NewClock(e.last)))
}

// standing is Standing of an object that has converged. Only Services and CronJobs have a reason by the objects that
// they own.
func standing(known index.View, t *change.Timeline, rs *ending.Reasons) reason.Reason {
	var owned []*history.Version
	var slices []*change.Timeline
	if kind.Service.Is(t.Ref.Kind) {
		for _, dep := range known.Dependants(t.Ref.UID) {
			if v := dep.Last(); v != nil && dep.Removal == nil {
				owned, slices = append(owned, v), append(slices, dep)
			}
		}
	}
	r := reason.Standing(t.Last(), owned, t.Events)
	switch {
	case r.Text == "" && kind.CronJob.Is(t.Ref.Kind):
		return rs.OfRuns(t)
	case r.Category == reason.NoEndpoints, r.Category == reason.EndpointsUnready:
		r.Since = cmp.Or(unservedSince(t, slices), r.Since)
	}
	return r
}

// unservedSince returns the time from which a Service has no ready endpoint, by the versions of its EndpointSlices; zero if
// they do not show it.
func unservedSince(t *change.Timeline, slices []*change.Timeline) time.Time {
	at := t.Last().Created
	for _, s := range slices {
		i := len(s.Versions)
		for i > 0 && (s.Versions[i-1].Endpoints == nil || s.Versions[i-1].Endpoints.Ready == "") {
			i--
		}
		if i == len(s.Versions) {
			continue
		}
		if v := s.Versions[i]; i > 0 || !v.Baseline {
			at = history.Later(at, v.Seen)
		} else {
			return time.Time{}
		}
	}
	return at
}
