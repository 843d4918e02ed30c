// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Objects yields every known stored object, in no order: the object was observed, and its removal
// was not. With it comes its newest observed resourceVersion. The Engine must not change during the
// iteration.
func (e *Engine) Objects() iter.Seq2[object.Ref, uint64] {
	return func(yield func(object.Ref, uint64) bool) {
		for _, t := range e.objects {
			if v := t.Last(); v != nil && t.Removal == nil && !yield(t.Ref, v.ObjectVersion()) {
				return
			}
		}
	}
}

// Forget forgets the objects for which drop returns true, as if they had never been observed. An
// example is a Namespace that another process observes now. Forget draws no conclusions: the
// objects do not count as deleted, and their replacements heal nothing. An open trace with these
// objects only disappears. Later observations of them start from the beginning. Handed-out traces
// stay handed out. drop is also called for objects known only from an Event or a refused request.
// Their Ref may be incomplete.
func (e *Engine) Forget(drop func(object.Ref) bool) {
	e.groups.changeAll()
	for _, t := range e.objects {
		if drop(t.Ref) {
			e.fates.Noise += t.Held()
			e.drop(t)
		}
	}
	maps.DeleteFunc(e.series, func(_ types.UID, l *seriesList) bool { return drop(l.ref) })
	for key, w := range e.refused {
		if drop(w.Ref) {
			delete(e.refused, key)
		}
	}
	e.trail.forget(drop)
	e.late = slices.DeleteFunc(e.late, func(a amendment) bool { return drop(a.ref) })
}

// forgetNode forgets the attributes of a Node for the spans of its Pods, unless another Node has
// its name now.
func (e *Engine) forgetNode(t *change.Timeline) {
	if !kind.Node.Is(t.Ref.Kind) || e.nodes[t.Ref.Name] == nil {
		return
	}
	for _, other := range e.objects {
		if other != t && other.Ref.Kind == t.Ref.Kind && other.Ref.Name == t.Ref.Name {
			return
		}
	}
	delete(e.nodes, t.Ref.Name)
	e.groups.nodeGone = true
}
