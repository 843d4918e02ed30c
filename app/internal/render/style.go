// SPDX-License-Identifier: Apache-2.0

package render

import (
	"hash/fnv"
	"strings"
)

// style is an ANSI colour or weight; the empty style is plain.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// palette has the colours of components: blue, magenta, cyan and their bright variants. None of
// them is the colour of an outcome.
var palette = []style{"36", "34", "35", "96", "94", "95"}

// componentStyle returns a component's colour, the same in every trace.
func componentStyle(name string) style {
	h := fnv.New32a()
	h.Write([]byte(name))
	return palette[h.Sum32()%uint32(len(palette))] //nolint:gosec // a short list
}

// piece is text in one style.
type piece struct {
	text  string
	style style
}

// line is pieces side by side.
type line []piece

func (l line) cells() int {
	n := 0
	for _, p := range l {
		n += cells(p.text)
	}
	return n
}

// string renders the line without trailing blanks.
func (l line) string(color bool) string {
	last := len(l) - 1
	for last >= 0 && strings.TrimRight(l[last].text, " ") == "" {
		last--
	}
	var b strings.Builder
	for i, p := range l[:last+1] {
		if i == last {
			p.text = strings.TrimRight(p.text, " ")
		}
		if !color || p.style == plain || strings.TrimSpace(p.text) == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteString("\x1b[" + string(p.style) + "m" + p.text + "\x1b[0m")
	}
	return b.String()
}

// clip cuts the end of the line to n cells.
func (l line) clip(n int) line {
	if l.cells() <= n {
		return l
	}
	for i, p := range l {
		if w := cells(p.text); w < n || w == n && i == len(l)-1 {
			n -= w
			continue
		}
		return append(l[:i:i], piece{head(p.text, n-1) + "…", p.style})
	}
	return l
}
