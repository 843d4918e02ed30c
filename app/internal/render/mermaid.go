// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// mermaidClasses are the classes of a vertex for the colour of its outcome.
var mermaidClasses = map[style]string{red: ":::failed", yellow: ":::waiting", dim: ":::past"}

// Mermaid draws the causes of traces as one flowchart. It has the same content as DOT.
func Mermaid(w io.Writer, traces []*span.Trace, o Options) error {
	g := newGraph(traces, o)
	out := bufio.NewWriter(w)
	// No line has a semicolon: some parsers end a statement there.
	fmt.Fprint(out, `flowchart LR
  classDef failed stroke:#c62828,stroke-width:2px
  classDef waiting stroke:#b26a00,stroke-width:2px
  classDef past stroke:#808080
  classDef outside stroke-dasharray:4 4
`)
	for i, b := range g.boxes {
		fmt.Fprintf(out, "  subgraph t%d[%s]\n", i+1, mermaidString(b.title))
		for _, v := range b.vertices {
			fmt.Fprintf(out, "    %s[%s]%s\n", v.id, mermaidString(v.lines...), mermaidClasses[v.style])
		}
		fmt.Fprintln(out, "  end")
	}
	for _, v := range g.outside {
		fmt.Fprintf(out, "  %s[%s]:::outside\n", v.id, mermaidString(v.lines...))
	}
	for _, e := range g.edges {
		arrow := "-->"
		switch {
		case e.both:
			arrow = "<-.->"
		case e.link:
			arrow = "-.->"
		}
		if text := e.text(); text != "" {
			arrow += "|" + mermaidString(text) + "|"
		}
		fmt.Fprintf(out, "  %s %s %s\n", e.from.id, arrow, e.to.id)
	}
	return out.Flush()
}

// mermaidString returns lines of text as one quoted string. Each line is bounded and escaped.
func mermaidString(lines ...string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = mermaidText(escape(l))
	}
	return `"` + strings.Join(escaped, "<br/>") + `"`
}

// mermaidText replaces each character that Mermaid may interpret by its code, such as #34;.
func mermaidText(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if literal(runes, i) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "#%d;", r)
		if strings.ContainsRune(interpretedLate, r) {
			b.WriteString(zeroWidth)
		}
	}
	return b.String()
}

const (
	// interpretedLate begin sequences that Mermaid searches for after it has decoded the codes:
	// \n, a formula $$…$$, an icon fa:…, and its own escapes ﬂ° and ¶ß.
	interpretedLate = `\$:ﬂ¶`
	// zeroWidth is the code of an invisible character. It separates such a sequence.
	zeroWidth = "#8203;"
)

// literal reports whether Mermaid shows the character at i as it is. Mermaid searches the whole
// text for directives, comments, styles, Markdown, HTML, links and icons, also in quoted strings.
func literal(runes []rune, i int) bool {
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return 0
		}
		return runes[i]
	}
	last, next := at(i-1), at(i+1)
	switch r := runes[i]; r {
	case 'ﬂ': // its own escape
		return false
	case ')': // so may a list
		return !unicode.IsDigit(last)
	case '/', ',', '(', '…', '·', '×':
		return true
	case ' ': // several blanks are Markdown
		return last != 0 && last != ' ' && next != 0 && next != ' '
	case ':': // a style, an icon or a URL has no blank here
		return next == ' '
	case '-', '=': // a list has a blank here, a heading or a line nothing else
		return letter(next) || next == r && letter(at(i+2))
	case '.': // a list has a blank here
		return letter(next) && !strings.EqualFold(string(runes[max(0, i-3):i]), "www") || next == '/'
	default:
		return letter(r)
	}
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
