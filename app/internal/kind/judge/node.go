// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// Lost reports whether v is a Node without a working kubelet: it has a taint of the node lifecycle
// controller that evicts Pods.
func Lost(v *history.Version) bool { return len(LossTaints(v)) > 0 }

// LossTaints returns the paths of these taints.
func LossTaints(v *history.Version) []string {
	if !kind.Node.Is(v.Kind) {
		return nil
	}
	var out []string
	for _, path := range kind.LossTaints {
		if v.Field(path) != nil {
			out = append(out, path)
		}
	}
	return out
}
