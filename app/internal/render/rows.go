// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// rows collects the lines of a tree before their layout.
type rows struct {
	qualified bool
	critical  map[*span.Span]bool
	scale     scale
	list      []row
}

// row is one line of a tree: a span with its columns, or text across all columns.
type row struct {
	branch string
	label  string
	mark   piece
	span   *span.Span
	note   piece
}

func (r *rows) walk(siblings []*node, prefix string, above object.Ref) {
	for i, n := range siblings {
		branch, below := prefix+"├─ ", prefix+"│  "
		if i == len(siblings)-1 {
			branch, below = prefix+"└─ ", prefix+"   "
		}
		if n.span == nil {
			r.list = append(r.list, row{branch: branch, note: piece{n.summary, dim}})
			continue
		}
		r.list = append(r.list, row{
			branch: branch, label: what(n.span, above, r.qualified), mark: mark(n.span, n.openBelow()), span: n.span,
		})
		stem := below
		if len(n.children) > 0 {
			stem += "│ "
		}
		for _, note := range n.notes {
			r.list = append(r.list, row{branch: stem, note: note})
		}
		r.walk(n.children, below, n.span.Object)
	}
}

// columns are the widths of a tree's columns. The bar's is 0 without room for one.
type columns struct{ what, component, length, bar int }

// gap is the number of cells between columns.
const gap = 2

const (
	// maxComponent bounds the component's column; in narrow lines it shrinks to minComponent.
	maxComponent, minComponent = 24, 12
	// minBar is the narrowest useful bar. wishBar is the width for which other columns shrink.
	minBar, wishBar = 8, 14
	// wishLabel and minLabel are the widths that labels keep when they shrink for the bar or for
	// the component.
	wishLabel, minLabel = 50, 24
)

// fit gives each column its natural width, and the bar the rest. In narrow lines first the
// component shrinks, then long labels, then the bar.
func (r *rows) fit(o Options) columns {
	want := r.natural(o)
	c := want
	room := func() int { return o.width() - c.what - c.component - c.length - 3*gap }
	give(&c.component, minComponent, wishBar-room())
	give(&c.what, wishLabel, wishBar-room())
	if c.bar = room(); c.bar >= minBar {
		return c
	}
	c = want
	over := func() int { return c.what + c.component + c.length + 2*gap - o.width() }
	give(&c.component, minComponent, over())
	give(&c.what, minLabel, over())
	if over() > 0 {
		c.component = -gap
		give(&c.what, 1, over())
	}
	return c
}

// give shrinks column by lacking cells, but not below least.
func give(column *int, least, lacking int) {
	*column -= max(0, min(lacking, *column-least))
}

// natural returns the natural widths of the columns.
func (r *rows) natural(o Options) columns {
	var c columns
	for _, row := range r.list {
		if row.span == nil {
			continue
		}
		c.what = max(c.what, cells(row.branch)+cells(row.label)+markCells(row.mark))
		c.component = max(c.component, min(maxComponent, cells(escape(row.span.Service))))
		c.length = max(c.length, cells(length(row.span, o.Now)))
	}
	return c
}

func markCells(m piece) int {
	if m.text == "" {
		return 0
	}
	return cells(m.text) + 3
}

// lines renders the rows.
func (r *rows) lines(o Options) []line {
	c := r.fit(o)
	var out []line
	for _, row := range r.list {
		if row.span == nil {
			out = append(out, noteLines(row, o.width())...)
			continue
		}
		out = append(out, r.spanLine(row, c, o))
	}
	return out
}

func (r *rows) spanLine(row row, c columns, o Options) line {
	label := squeeze(row.label, max(4, c.what-cells(row.branch)-markCells(row.mark)))
	l := line{{row.branch, dim}, {label, plain}}
	if row.mark.text != "" {
		l = append(l, piece{" [" + row.mark.text + "]", row.mark.style})
	}
	l = append(l, piece{strings.Repeat(" ", max(0, c.what-l.cells())+gap), plain})
	if c.component > 0 {
		name := cut(escape(row.span.Service), c.component)
		l = append(l, piece{pad(name, c.component+gap), componentStyle(row.span.Service)})
	}
	l = append(l, piece{pad(length(row.span, o.Now), c.length), plain})
	if c.bar > 0 {
		style := componentStyle(row.span.Service)
		switch {
		case failed(row.span):
			style = red
		case !r.critical[row.span]:
			style = dim
		}
		l = append(l, piece{strings.Repeat(" ", gap), plain}, piece{r.scale.bar(row.span, c.bar), style})
	}
	return l
}

// noteLines wraps a note into several lines.
func noteLines(row row, width int) []line {
	var out []line
	branch := row.branch
	for _, text := range wrap(row.note.text, max(10, width-cells(branch))) {
		out = append(out, line{{branch, dim}, {text, row.note.style}})
		branch = strings.NewReplacer("├─", "│ ", "└─", "  ").Replace(branch)
	}
	return out
}
