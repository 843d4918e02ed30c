// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// NodeController is the controller of kube-controller-manager that taints lost Nodes.
const NodeController = "node-controller"

// LosesNode reports whether w is the first write of a component with a taint of a lost Node. A person
// may write such a taint, too.
func (w *Write) LosesNode() bool {
	return w.taintsLost() && kind.IsComponent(w.Manager) && judge.Lost(w.Version) &&
		(w.Reconstructed || w.Previous != nil && !judge.Lost(w.Previous))
}

// WhileLost reports whether w is a component's change of the taints of a Node that was lost before. A
// removal has no author (rule A1).
func (w *Write) WhileLost() bool {
	return w.taintsLost() && (w.Manager == "" || kind.IsComponent(w.Manager)) && w.Previous != nil &&
		judge.Lost(w.Previous)
}

// taintsLost reports whether w changed only taints of lost Nodes.
func (w *Write) taintsLost() bool {
	return kind.Node.Is(w.Timeline.Ref.Kind) && len(w.Changed.Paths) > 0 &&
		!slices.ContainsFunc(w.Changed.Paths, func(path string) bool {
			return !slices.ContainsFunc(kind.LossTaints, func(taint string) bool {
				return strings.HasPrefix(path, strings.TrimSuffix(taint, "key"))
			})
		})
}

// Loss reports whether r is the loss of a Node.
func (r *Reconciliation) Loss() bool {
	return r.Instant && r.First().taintsLost() && kind.IsComponent(r.First().Manager)
}
