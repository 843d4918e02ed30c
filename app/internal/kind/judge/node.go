// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// Lost reports whether v is a Node without a working kubelet: it has a taint of the node lifecycle
// controller that evicts Pods.
func Lost(v *history.Version) bool {
	return kind.Node.Is(v.Kind) && v.Fields != nil && slices.ContainsFunc(kind.LossTaints, func(path string) bool {
		_, found := slices.BinarySearchFunc(v.Fields.Leaves, path, history.ComparePath)
		return found
	})
}
