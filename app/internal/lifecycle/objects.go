// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Objects yields every known stored object, in no order: the object was observed, and its removal
// was not. With it comes its newest observed resourceVersion. The Engine must not change during the
// iteration.
func (e *Engine) Objects() iter.Seq2[object.Ref, uint64] {
	return func(yield func(object.Ref, uint64) bool) {
		for _, t := range e.index.Objects() {
			if v := t.Last(); v != nil && t.Removal == nil && !yield(t.Ref, v.ObjectVersion()) {
				return
			}
		}
	}
}
