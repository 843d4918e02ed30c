// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
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
	return standing(known, t)
}

// standing is Standing of an object that has converged. Only Services have a reason by the objects that they own.
func standing(known index.View, t *change.Timeline) reason.Reason {
	var owned []*history.Version
	if kind.Service.Is(t.Ref.Kind) {
		for _, dep := range known.Dependants(t.Ref.UID) {
			if v := dep.Last(); v != nil && dep.Removal == nil {
				owned = append(owned, v)
			}
		}
	}
	return reason.Standing(t.Last(), owned, t.Events)
}
