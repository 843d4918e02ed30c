// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// rank orders the spans of a trace with more of them than Options.MaxPerTrace. Spans of a higher rank are
// surplus first. The spans below one of rankFirst or rankDetail have its rank.
type rank int8

const (
	// rankFirst has the last attempt to schedule each Pod, if it found no node: it is the answer to why the
	// Pod waits.
	rankFirst rank = iota
	rankUsual
	// rankDetail has reads and polls, earlier attempts without a node, and the plugins of an attempt that
	// found one. Those of Score stay usual: they compare that node with the second.
	rankDetail
)

// leaveOut divides the members of a full trace into those that stay, and the surplus. Parents are before
// their children in members. The result has no order.
func leaveOut(members []*node, most int) (stay, surplus []*node) {
	last := map[string]*node{} // by Pod
	for _, n := range members {
		if was := last[n.pod]; n.span.IsAttempt() && (was == nil || later(n, was)) {
			last[n.pod] = n
		}
	}
	ranks := make(map[*node]rank, len(members))
	for _, n := range members {
		r := n.rank(last[n.pod])
		if up, there := ranks[n.above]; there && up != rankUsual {
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

// later reports whether a started after b. Of two with the same start, one is later in any order of arrival.
func later(a, b *node) bool {
	if c := a.span.Start.Compare(b.span.Start.Time); c != 0 {
		return c > 0
	}
	return compareKeys(a, b) > 0
}

// rank returns n's rank without its ancestors. last is the last attempt to schedule n's Pod.
func (n *node) rank(last *node) rank {
	switch s := n.span; {
	case s.IsAttempt() && text(s.Attributes, span.KeyAttemptOutcome) != span.AttemptBound:
		if n == last {
			return rankFirst
		}
		return rankDetail
	case n.weak, s.OfScheduler() && hasPlugin(s) && !strings.HasPrefix(s.Name, span.NameScore+" "):
		return rankDetail
	}
	return rankUsual
}

// hasPlugin reports whether s is of a plugin of the scheduler.
func hasPlugin(s *span.Span) bool {
	return slices.ContainsFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == span.KeyPlugin })
}
