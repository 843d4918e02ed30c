// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// maxVertexName and maxEdgeLabel bound texts in a graph, in cells.
	maxVertexName, maxEdgeLabel = 48, 40
)

// graph is the causes of traces: one vertex for each reconciliation, and edges from causes to
// effects. A vertex may have several causes.
type graph struct {
	boxes []box
	// outside are the causes that are not in the traces.
	outside []*vertex
	edges   []*edge

	// of is the vertex of each span, missing that of each outside cause, and known each edge.
	of      map[place]*vertex
	missing map[place]*vertex
	known   map[edgeKey]*edge
}

// box is one trace.
type box struct {
	title    string
	vertices []*vertex
}

// vertex is one reconciliation, several folded ones, or a cause outside the traces.
type vertex struct {
	id string
	// index orders the vertices.
	index int
	lines []string
	// style is the colour of the outcome.
	style style
	// kind is "traces" or "spans" for an outside cause, and otherwise empty.
	kind string
}

// edge is a cause of a vertex.
type edge struct {
	edgeKey
	// both is true for two equal links in opposite directions.
	both bool
	// count is the number of equal edges.
	count int
}

// edgeKey identifies an edge. A link is dashed; other edges lead from parent to child.
type edgeKey struct {
	from, to *vertex
	label    string
	link     bool
}

// place identifies a span. Without a span ID it is a whole trace.
type place struct {
	trace trace.TraceID
	span  trace.SpanID
}

// newGraph arranges traces as a graph. Unless o.Full is set, similar siblings and similar outside
// causes are folded. The same traces give the same graph.
func newGraph(traces []*span.Trace, o Options) *graph {
	o.Width = 0 // a graph has no terminal
	g := &graph{of: map[place]*vertex{}, missing: map[place]*vertex{}, known: map[edgeKey]*edge{}}
	for _, t := range traces {
		g.addTrace(t, o)
	}
	for _, t := range traces {
		for _, s := range t.Spans {
			for _, c := range store.CausesOf(s) {
				g.cause(c)
			}
		}
	}
	g.pair()
	if !o.Full {
		g.foldOutside()
	}
	g.number()
	return g
}

// addTrace adds a trace without edges.
func (g *graph) addTrace(t *span.Trace, o Options) {
	tree := &node{children: forest(t)}
	tree.condense()
	if !o.Full {
		tree.fold(o.Now)
	}
	b := box{title: boxTitle(t, o)}
	qualified := manyNamespaces(t)
	var walk func([]*node)
	walk = func(siblings []*node) {
		for _, n := range siblings {
			v := newVertex(n, qualified, o.Now)
			b.vertices = append(b.vertices, v)
			g.place(v, n)
			walk(n.children)
		}
	}
	walk(tree.children)
	g.boxes = append(g.boxes, b)
}

// boxTitle returns a trace as one line, like summaryLine.
func boxTitle(t *span.Trace, o Options) string {
	var words []string
	for _, p := range summaryLine(t, o) {
		words = append(words, strings.TrimSpace(p.text))
	}
	return join(words, " · ")
}

// condense keeps of n's descendants those with a vertex of their own. The others become parts of
// the nearest one above.
func (n *node) condense() {
	below := n.children
	n.children = nil
	n.adopt(below)
	byStart(n.children)
}

func (n *node) adopt(below []*node) {
	for _, c := range below {
		if n.span == nil || distinct(c.span, n.span) {
			n.children = append(n.children, c)
			c.condense()
			continue
		}
		n.parts = append(n.parts, c.span)
		n.adopt(c.children)
	}
}

// distinct reports whether s, below the vertex of up, has a vertex of its own: a reconciliation, or
// a write of a command that reconciles nothing, such as a refused one.
func distinct(s, up *span.Span) bool {
	return s.IsReconciliation() || up.Name == span.NameRun && s.Parent == up.ID && s.IsWrite()
}

// place records v as the vertex of n's spans. A summary also has the spans below its hidden nodes.
func (g *graph) place(v *vertex, n *node) {
	if n.span != nil {
		g.placeSpan(v, n.span)
	}
	for _, s := range n.parts {
		g.placeSpan(v, s)
	}
	for _, h := range n.hidden {
		g.placeTree(v, h)
	}
}

func (g *graph) placeTree(v *vertex, n *node) {
	g.place(v, n)
	for _, c := range n.children {
		g.placeTree(v, c)
	}
}

func (g *graph) placeSpan(v *vertex, s *span.Span) {
	at := []place{{s.TraceID, s.ID}}
	if s.Origin != nil { // links of its component have the original trace
		at = append(at, place{s.Origin.TraceID, s.ID})
	}
	for _, p := range at {
		if g.of[p] == nil {
			g.of[p] = v
		}
	}
}

func newVertex(n *node, qualified bool, now time.Time) *vertex {
	if n.span == nil {
		count, facts, _ := strings.Cut(n.summary, " (")
		v := &vertex{lines: []string{squeeze(count, maxVertexName), "(" + facts}, style: dim}
		for _, h := range n.hidden {
			switch {
			case h.trouble() > 1:
				v.style = red
			case h.trouble() > 0 && v.style != red:
				v.style = yellow
			}
		}
		return v
	}
	s := n.span
	name := what(s, object.Ref{}, qualified)
	if s.IsReconciliation() {
		name = strings.TrimPrefix(name, span.ReconcileName(""))
	}
	end := n.verdict(now)
	v := &vertex{lines: []string{squeeze(name, maxVertexName)}, style: end.style}
	if by := author(s).text; by != "" {
		v.lines = append(v.lines, squeeze(by, maxVertexName))
	}
	v.lines = append(v.lines, end.text)
	return v
}

// verdict returns the outcome and duration of n's span. A part that is stuck makes it stuck. The
// status of a command is its exit code, and not the outcome of its changes.
func (n *node) verdict(now time.Time) piece {
	s, outcome := n.span, n.span.Outcome
	switch {
	case failed(s) && s.Name != span.NameRun:
		outcome = span.Failed
	case outcome == "" && !s.Open():
		return piece{length(s, now), plain}
	}
	stuck := s.Stuck() || slices.ContainsFunc(n.parts, (*span.Span).Stuck)
	return verdict(s, outcome, stuck, "", now)
}

// sameWork are the reasons of links to a second record of the same work. These are no causes.
var sameWork = map[string]bool{"joined": true, span.LinkServer: true, "stream": true}

// cause adds the edge of c. Causes inside one vertex have none.
func (g *graph) cause(c store.Cause) {
	if !c.Parent && sameWork[c.Reason] {
		return
	}
	label := string(c.Evidence)
	if !c.Parent {
		label = cmp.Or(c.Reason, label, "link")
	}
	k := edgeKey{to: g.of[place{c.TraceID, c.SpanID}], label: squeeze(escape(label), maxEdgeLabel), link: !c.Parent}
	k.from = g.of[place{c.OfTrace, c.OfSpan}]
	if k.from == nil {
		k.from = g.missingCause(c)
	}
	if k.from != k.to {
		g.connect(k, 1)
	}
}

// missingCause returns the vertex of a cause outside the traces: one for each trace, or one for
// each span that should be in its trace.
func (g *graph) missingCause(c store.Cause) *vertex {
	at := place{trace: c.OfTrace}
	v := &vertex{lines: []string{"trace " + c.OfTrace.String()[:8]}, kind: "traces"}
	if c.OfTrace == c.TraceID {
		at.span = c.OfSpan
		v = &vertex{lines: []string{"span " + c.OfSpan.String(), "not in this trace"}, kind: "spans"}
	}
	if old := g.missing[at]; old != nil {
		return old
	}
	g.missing[at] = v
	g.outside = append(g.outside, v)
	return v
}

func (g *graph) connect(k edgeKey, count int) {
	if old := g.known[k]; old != nil {
		old.count += count
		return
	}
	e := &edge{edgeKey: k, count: count}
	g.known[k] = e
	g.edges = append(g.edges, e)
}

// pair draws equal links in both directions as one edge.
func (g *graph) pair() {
	gone := map[*edge]bool{}
	for _, e := range g.edges {
		back := g.known[edgeKey{from: e.to, to: e.from, label: e.label, link: true}]
		if e.link && back != nil && !gone[e] {
			e.both, gone[back] = true, true
			e.count = max(e.count, back.count)
		}
	}
	g.edges = slices.DeleteFunc(g.edges, func(e *edge) bool { return gone[e] })
}

// foldOutside replaces many outside causes of the same vertices by one.
func (g *graph) foldOutside() {
	edges := map[*vertex][]*edge{}
	for _, e := range g.edges {
		if e.from.kind != "" {
			edges[e.from] = append(edges[e.from], e)
		}
	}
	groups := map[string][]*vertex{}
	for _, v := range g.outside {
		key := v.kind
		for _, e := range edges[v] {
			key += fmt.Sprintf(" %p %t %q", e.to, e.link, e.label)
		}
		groups[key] = append(groups[key], v)
	}
	instead := map[*vertex]*vertex{}
	for _, group := range groups {
		if len(group) <= foldAbove {
			continue
		}
		for _, v := range group[1:] {
			instead[v] = group[0]
		}
		group[0].lines = []string{fmt.Sprintf("%d other %s", len(group), group[0].kind)}
	}
	g.outside = slices.DeleteFunc(g.outside, func(v *vertex) bool { return instead[v] != nil })
	all := g.edges
	g.edges, g.known = nil, map[edgeKey]*edge{}
	for _, e := range all {
		k := e.edgeKey
		k.from = cmp.Or(instead[k.from], k.from)
		g.connect(k, e.count)
		g.known[k].both = e.both
	}
}

// number gives each vertex its ID, and orders the edges: solid ones first, then by their effects.
func (g *graph) number() {
	index := 0
	for _, b := range g.boxes {
		for _, v := range b.vertices {
			index++
			v.index, v.id = index, "n"+strconv.Itoa(index)
		}
	}
	for i, v := range g.outside {
		v.index, v.id = index+i+1, "o"+strconv.Itoa(i+1)
	}
	slices.SortStableFunc(g.edges, func(a, b *edge) int {
		return cmp.Or(
			solidFirst(a, b), cmp.Compare(a.to.index, b.to.index),
			cmp.Compare(a.from.index, b.from.index), cmp.Compare(a.label, b.label),
		)
	})
}

// text returns the label of an edge, with a count for several equal links.
func (e *edge) text() string {
	if e.link && e.count > 1 {
		return fmt.Sprintf("%s ×%d", e.label, e.count)
	}
	return e.label
}

// solidFirst sorts links after other edges.
func solidFirst(a, b *edge) int {
	switch {
	case a.link == b.link:
		return 0
	case b.link:
		return -1
	}
	return 1
}
