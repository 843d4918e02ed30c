// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// silence is the time after which a missing reaction is a reason. A scheduler or a controller under load may need
// some seconds.
const silence = 10 * time.Second

// byUsers returns the reason of a claim in deletion by the Pods that use it, or else r.
func (rs *Reasons) byUsers(last *history.Version, r reason.Reason) reason.Reason {
	if !kind.PersistentVolumeClaim.Is(last.Kind) || !slices.Contains(last.Finalizers, "kubernetes.io/pvc-protection") {
		return r
	}
	var pods []*history.Version
	for _, t := range rs.known.Referrers(object.NameOf(last.Ref)) {
		// The claim is protected from Pods with a node only.
		if v := t.Last(); v != nil && v.Pod != nil && v.Pod.Node != "" && t.Removal == nil {
			pods = append(pods, v)
		}
	}
	slices.SortFunc(pods, func(a, b *history.Version) int { return strings.Compare(a.Name, b.Name) })
	return reason.Used(r, last, pods)
}

// byDependants returns the reason of an object in a foreground deletion by the reason of a dependant, or else r.
func (rs *Reasons) byDependants(t *change.Timeline, r reason.Reason) reason.Reason {
	rs.memo[t] = r // owners may form a cycle
	var below []reason.Owned
	for _, dep := range rs.known.Dependants(t.Ref.UID) {
		if v := dep.Last(); v != nil && dep.Removal == nil && !v.Deleting.IsZero() {
			below = append(below, reason.Owned{Version: v, Reason: rs.Of(dep)})
		}
	}
	slices.SortFunc(below, func(a, b reason.Owned) int { return strings.Compare(a.Name, b.Name) })
	return reason.Kept(r, below)
}

// byRollout returns the reason of a Pod that the Pods of the former revision of its Deployment keep from the nodes,
// or else r.
func (rs *Reasons) byRollout(t *change.Timeline, r reason.Reason) reason.Reason {
	set := rs.known.Above(t)
	if set == nil {
		return r
	}
	top := rs.known.Above(set)
	if top == nil || top.Last() == nil || !kind.Deployment.Is(top.Ref.Kind) {
		return r
	}
	held := map[string]bool{}
	for _, other := range rs.known.Dependants(top.Ref.UID) {
		if other == set {
			continue
		}
		for _, pod := range rs.known.Dependants(other.Ref.UID) {
			if v := pod.Last(); v != nil && v.Pod != nil && v.Pod.Node != "" && pod.Removal == nil {
				held[v.Pod.Node] = true
			}
		}
	}
	return reason.Deadlocked(r, t.Last(), top.Last(), len(held))
}
