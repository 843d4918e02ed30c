// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Tree draws each trace as a tree of its spans, with component, duration, time bar, problems and
// the critical path. A healing trace shows its cause. Unless o.Full is set, many similar siblings
// and minor foreign spans are folded.
func Tree(w io.Writer, traces []*span.Trace, o Options) error {
	out := bufio.NewWriter(w)
	for i, t := range traces {
		if i > 0 {
			fmt.Fprintln(out)
		}
		for _, l := range treeLines(t, o, unlimited) {
			fmt.Fprintln(out, l.string(o.Color))
		}
	}
	return out.Flush()
}

// treeLines returns the lines of one trace's tree.
func treeLines(t *span.Trace, o Options, d density) []line {
	tree := &node{children: forest(t)}
	if root := t.Root(); root != nil && root.Name == span.NameRun {
		tree.hoist(root)
	}
	var left leftOut
	if !o.Full {
		if root := t.Root(); root != nil {
			f := newJoinedFold(t, o.Now, root.Duration(o.Now))
			f.fold(tree)
			left = f.left
		}
		tree.fold(o.Now)
	}
	tree.thin(d)
	shown := reasons{}
	if _, why, found := reason.CutRefused(t.Reason); found { // the header has it, and the state of the object
		shown.show(escape(why))
		if i := strings.LastIndex(why, reason.AndState); i >= 0 {
			shown.show(escape(why[:i]))
		}
	}
	tree.annotate(shown, o.Full)
	tree.noteEdits(t.Root())
	lines := append(header(t, o), healing(t, o)...)
	path := insight.CriticalPath(t, o.Now)
	r := rows{qualified: manyNamespaces(t), critical: onPath(path), scale: newScale(t, o.Now)}
	r.walk(tree.children, "", object.Ref{})
	lines = append(lines, r.lines(o)...)
	lines = append(lines, left.lines()...)
	if len(t.Spans) > 1 { // a single span needs no critical path
		lines = append(lines, pathLines(path, o)...)
	}
	for i := range lines {
		lines[i] = lines[i].clip(o.width()) // deep trees in narrow terminals
	}
	return lines
}

// hoist replaces root by its children: a command is in the header.
func (n *node) hoist(root *span.Span) {
	for i, c := range n.children {
		if c.span == root {
			n.children = slices.Concat(n.children[:i], c.children, n.children[i+1:])
			return
		}
	}
}

func onPath(path []insight.Segment) map[*span.Span]bool {
	on := map[*span.Span]bool{}
	for _, seg := range path {
		on[seg.Span] = true
	}
	return on
}

// pathLines summarizes the critical path.
func pathLines(path []insight.Segment, o Options) []line {
	const title, sep = "critical path: ", " · "
	shares := insight.Shares(path)
	if len(shares) == 0 {
		return nil
	}
	lines := []line{{{title, bold}}}
	for i, s := range shares {
		share := piece{fmt.Sprintf("%s %d%%", squeeze(escape(s.Label), o.width()-len(title)-5), s.Percent), plain}
		last := len(lines) - 1
		switch {
		case i == 0:
			lines[last] = append(lines[last], share)
		case lines[last].cells()+cells(sep)+cells(share.text) <= o.width():
			lines[last] = append(lines[last], piece{sep, dim}, share)
		default:
			lines = append(lines, line{{pad("", len(title)), plain}, share})
		}
	}
	return lines
}
