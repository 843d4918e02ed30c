// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Objects gives every object that is stored as far as is known, in no order:
// one that was seen, and its end not. With it comes the newest resourceVersion
// in which it was seen. The engine must not be changed meanwhile.
func (e *Engine) Objects() iter.Seq2[object.Ref, uint64] {
	return func(yield func(object.Ref, uint64) bool) {
		for _, t := range e.objects {
			if v := t.last(); v != nil && t.removal == nil && !yield(t.ref, v.ResourceVersion) {
				return
			}
		}
	}
}

// Forget forgets the objects that drop names as if they had never been seen: a
// Namespace that another process looks after now, say. Nothing is concluded
// from it: they were not deleted, and what takes their place heals nothing. An
// open trace that is about them only is no more; what is observed of them
// later begins anew. Traces that were taken stay taken. drop is also asked about
// objects that are known by an Event or a refused request alone, whose Ref
// may be incomplete.
func (e *Engine) Forget(drop func(object.Ref) bool) {
	e.groups.changeAll()
	for _, t := range e.objects {
		if drop(t.ref) {
			e.fates.Noise += t.held()
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

// forgetNode forgets what a Node's Pods name of it, unless another Node has
// its name now.
func (e *Engine) forgetNode(t *timeline) {
	if !kind.Node.Is(t.ref.Kind) || e.nodes[t.ref.Name] == nil {
		return
	}
	for _, other := range e.objects {
		if other != t && other.ref.Kind == t.ref.Kind && other.ref.Name == t.ref.Name {
			return
		}
	}
	delete(e.nodes, t.ref.Name)
	e.groups.nodeGone = true
}
