// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// cell computes widths of a terminal outside East Asian locales, with one cell for box characters
// and bars.
var cell = runewidth.Condition{StrictEmojiNeutral: true}

// escape bounds and escapes text from a cluster.
func escape(s string) string { return Escape(span.Bound(s)) }

// Escape makes text safe to print on one line. Everything that a terminal would interpret becomes
// visible, such as control and escape characters, line breaks, changes of direction and invisible
// joiners.
func Escape(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case printable(r):
			b.WriteRune(r)
		default:
			b.WriteString(quoted(r))
		}
		i += size
	}
	return b.String()
}

func clean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !printable(r) {
			return false
		}
	}
	return true
}

func printable(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r)
}

func quoted(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// cells returns the number of terminal cells of s.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cell.RuneWidth(r)
	}
	return n
}

// head returns the longest start of s that fits into n cells.
func head(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += cell.RuneWidth(r); used > n {
			return s[:i]
		}
	}
	return s
}

// tail returns the longest end of s that fits into n cells and does not begin with a combining
// mark.
func tail(s string, n int) string {
	used, from := 0, len(s)
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		w := cell.RuneWidth(r)
		if used += w; used > n {
			break
		}
		i -= size
		if w > 0 {
			from = i
		}
	}
	return s[from:]
}

// cut shortens s to n cells at its end.
func cut(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return head(s, n-1) + "…"
}

// squeeze shortens the middle of s to fit into n cells, because generated names differ at their
// end.
func squeeze(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	if n < 8 {
		return cut(s, n)
	}
	end := tail(s, (n-1)/3)
	return head(s, n-1-cells(end)) + "…" + end
}

// pad fills s up to n cells.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-cells(s)))
}

// Wrap breaks an escaped text at blanks into lines of at most that many cells.
func Wrap(text string, width int) []string { return wrap(text, width) }

// wrap breaks s at blanks into lines of at most n cells. Longer words are broken anywhere.
func wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && cells(line)+1+cells(word) <= n {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for cells(word) > n {
			part := head(word, n)
			if part == "" {
				break
			}
			lines, word = append(lines, part), word[len(part):]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
