// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// worthwhile is the divisor for the shortest foreign span to draw: a shorter part of the
	// trace's duration explains nothing.
	worthwhile = 25
	// nearly is the percentage of a span that counts as all of it.
	nearly = 90
)

// joinedFold keeps of the foreign spans only the failed and long ones. A foreign span of a write is
// hidden behind ours. A routine write is hidden if it has nothing more to show.
type joinedFold struct {
	trace *span.Trace
	now   time.Time
	least time.Duration
	left  leftOut
}

// leftOut counts hidden spans: foreign ones by component, and routine writes.
type leftOut struct {
	by      map[string]int
	routine int
}

func newJoinedFold(t *span.Trace, now time.Time, length time.Duration) *joinedFold {
	return &joinedFold{trace: t, now: now, least: length / worthwhile, left: leftOut{by: map[string]int{}}}
}

// fold folds the descendants of n.
func (f *joinedFold) fold(n *node) {
	var kept []*node
	for _, c := range n.children {
		switch {
		case c.span == nil:
		case c.span.Origin != nil:
			kept = append(kept, f.joined(n, c)...)
			continue
		default:
			f.fold(c)
			if f.isRoutine(c) {
				f.left.routine++
				continue
			}
		}
		kept = append(kept, c)
	}
	byStart(kept)
	n.children = kept
}

// isRoutine reports whether c, already folded, is a routine write without anything else to show.
func (f *joinedFold) isRoutine(c *node) bool {
	return insight.Routine(f.trace, c.span) && len(c.children) == 0 && c.span.Duration(f.now) < f.least
}

// joined returns the visible nodes of c, a foreign span below n, a span of ours.
func (f *joinedFold) joined(n, c *node) []*node {
	hidden := map[string]int{}
	told := n.span != nil && n.span.IsWrite() && (failed(n.span) || !failed(c.span))
	above := c
	if told {
		above = n
	}
	c.children = f.keep(above, c.children, hidden)
	if told || len(c.children) == 0 && !failed(c.span) && c.span.Duration(f.now) < f.least {
		hidden[c.span.Service]++
		for service, count := range hidden {
			f.left.by[service] += count
		}
		return c.children
	}
	if text := summary(hidden); text != "" {
		c.children = append(c.children, &node{summary: text})
	}
	return []*node{c}
}

// keep returns visible children, and visible descendants of hidden ones, below the span of n.
func (f *joinedFold) keep(n *node, children []*node, hidden map[string]int) []*node {
	var out []*node
	for _, c := range children {
		switch {
		case c.span == nil || c.span.Origin == nil:
			f.fold(c) // ours
			out = append(out, c)
		case f.worth(c, n):
			c.children = f.keep(c, c.children, hidden)
			out = append(out, c)
		default:
			hidden[c.span.Service]++
			out = append(out, f.keep(n, c.children, hidden)...)
		}
	}
	byStart(out)
	return out
}

// worth reports whether c is drawn below n. Of the two sides of one call the caller's is drawn. Of
// nested spans of one component with nearly the same duration, the outermost is drawn; a write
// stands for its request likewise.
func (f *joinedFold) worth(c, n *node) bool {
	took := c.span.Duration(f.now)
	switch {
	case failed(c.span):
		return true
	case took < f.least, called(c.span) == called(n.span):
		return false
	case c.span.Service == n.span.Service, n.span.Origin == nil:
		return took*100 < n.span.Duration(f.now)*nearly
	}
	return true
}

// summary returns a line for hidden spans; empty for none.
func summary(hidden map[string]int) string {
	count, names := counted(hidden)
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("… %d more of %s", count, names)
}

// counted returns the number of spans, and their components.
func counted(by map[string]int) (count int, names string) {
	all := slices.Sorted(maps.Keys(by))
	for _, name := range all {
		count += by[name]
	}
	const most = 4
	if len(all) > most {
		all = append(all[:most:most], "others")
	}
	for i, name := range all {
		all[i] = escape(name)
	}
	return count, strings.Join(all, ", ")
}

// lines describe the hidden spans, and the flag to show them.
func (l leftOut) lines() []line {
	var facts []string
	switch {
	case l.routine == 1:
		facts = append(facts, "1 routine write")
	case l.routine > 1:
		facts = append(facts, fmt.Sprintf("%d routine writes", l.routine))
	}
	if count, names := counted(l.by); count > 0 {
		facts = append(facts, fmt.Sprintf("%d spans of %s", count, names))
	}
	if len(facts) == 0 {
		return nil
	}
	return []line{{{"not drawn without --full: " + strings.Join(facts, ", "), dim}}}
}

// called returns the display name of s: the method of a gRPC call.
func called(s *span.Span) string {
	if slash := strings.LastIndexByte(s.Name, '/'); s.Origin != nil && slash > 0 &&
		!strings.ContainsAny(s.Name, " {") && strings.Contains(s.Name[:slash], ".") {
		return s.Name[slash+1:]
	}
	return s.Name
}
