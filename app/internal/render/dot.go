// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// dotStyles are the attributes of a vertex for the colour of its outcome.
var dotStyles = map[style]string{
	red:    `, color="#c62828", penwidth=2`,
	yellow: `, color="#b26a00", penwidth=2`,
	dim:    `, color="#808080", fontcolor="#606060"`,
}

// DOT draws the causes of traces as one graph in Graphviz' language. Each reconciliation is a
// node, and each trace a box. Solid edges lead from parent to child; dashed edges are links.
func DOT(w io.Writer, traces []*span.Trace, o Options) error {
	g := newGraph(traces, o)
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `digraph lifeline {
  rankdir=LR
  node [shape=box, style=rounded, fontname="Helvetica", fontsize=12]
  edge [fontname="Helvetica", fontsize=10]
  graph [fontname="Helvetica", fontsize=12, labeljust=l]
`)
	for i, b := range g.boxes {
		fmt.Fprintf(out, "  subgraph cluster_%d {\n    label=%s\n", i+1, dotString(b.title))
		for _, v := range b.vertices {
			fmt.Fprintf(out, "    %s [label=%s%s]\n", v.id, dotString(v.lines...), dotStyles[v.style])
		}
		fmt.Fprintln(out, "  }")
	}
	for _, v := range g.outside {
		fmt.Fprintf(out, "  %s [label=%s, style=\"rounded,dashed\"]\n", v.id, dotString(v.lines...))
	}
	for _, e := range g.edges {
		fmt.Fprintf(out, "  %s -> %s%s\n", e.from.id, e.to.id, dotEdge(e))
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotEdge returns the attributes of an edge. A link in both directions does not move its ends apart.
func dotEdge(e *edge) string {
	var attributes []string
	if text := e.text(); text != "" {
		attributes = append(attributes, "label="+dotString(text))
	}
	if e.link {
		attributes = append(attributes, "style=dashed")
	}
	if e.both {
		attributes = append(attributes, "dir=both, constraint=false")
	}
	if len(attributes) == 0 {
		return ""
	}
	return " [" + strings.Join(attributes, ", ") + "]"
}

// dotEscapes are the characters with a meaning in a label: the end of the string, escape sequences
// such as \N for the node's name, and HTML entities.
var dotEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "&", "&amp;")

// dotString returns lines of text as one quoted string. Each line is bounded and escaped.
func dotString(lines ...string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = dotEscapes.Replace(escape(l))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
