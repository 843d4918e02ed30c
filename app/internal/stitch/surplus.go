// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// rank orders the spans of a trace with more of them than Options.MaxPerTrace. Spans of a higher rank are
// surplus first. So a parent never has a higher rank than its children, except in a forged tree.
type rank int8

const (
	// rankFirst has the attempts to schedule a Pod that found no node: they are the answer to why it waits.
	rankFirst rank = iota
	rankUsual
	// rankDetail has reads and polls, and the plugins of an attempt that found a node. Those of Score stay
	// usual: they compare that node with the second.
	rankDetail
)

// leaveOut divides the members of a full trace into those that stay, and the surplus. Parents are before
// their children in members. The result has no order.
func leaveOut(members []*node, most int) (stay, surplus []*node) {
	ranks := make(map[*node]rank, len(members))
	for _, n := range members {
		r, above := n.rank(), n.above
		if up, there := ranks[above]; there && up != rankUsual {
			r = up
		}
		ranks[n] = r
	}
	slices.SortFunc(members, func(a, b *node) int {
		if ranks[a] != ranks[b] {
			return int(ranks[a] - ranks[b])
		}
		return compareKeys(a, b)
	})
	return members[:most], members[most:]
}

// rank returns n's rank without its ancestors.
func (n *node) rank() rank {
	switch s := n.span; {
	case s.IsAttempt() && text(s.Attributes, span.KeyAttemptOutcome) != span.AttemptBound:
		return rankFirst
	case n.weak, s.OfScheduler() && hasPlugin(s) && !strings.HasPrefix(s.Name, span.NameScore+" "):
		return rankDetail
	}
	return rankUsual
}

// hasPlugin reports whether s is of a plugin of the scheduler.
func hasPlugin(s *span.Span) bool {
	return slices.ContainsFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == span.KeyPlugin })
}
