// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"
)

// Grid writes rows with aligned columns, in the style of kubectl; an empty cell shows as "-". Cells
// are escaped already. All rows have the length of the first.
func Grid(w io.Writer, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], cells(text))
		}
	}
	out := bufio.NewWriter(w)
	for _, row := range rows {
		var l line
		for i, text := range row {
			l = append(l, piece{pad(cmp.Or(text, "-"), widths[i]+3), plain})
		}
		fmt.Fprintln(out, l.string(false))
	}
	return out.Flush()
}

// CSV writes rows as RFC 4180. Control characters are escaped, as in Escape. Spreadsheets take a cell
// that begins with = + - or @ for a formula, so that it gets a ' in front; numbers do not.
func CSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, text := range row {
			if safe[i] = Escape(text); strings.IndexAny(text, "=+-@") == 0 && !isNumber(text) {
				safe[i] = "'" + safe[i]
			}
		}
		if err := out.Write(safe); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// isNumber reports whether a text is a decimal number, such as -1.5.
func isNumber(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	whole, part, _ := strings.Cut(digits, ".")
	return whole != "" && strings.Trim(whole, "0123456789") == "" && strings.Trim(part, "0123456789") == ""
}

// Width returns the number of a terminal's cells for an escaped text.
func Width(text string) int { return cells(text) }

// Duration formats a duration with about three digits: 12ms, 4.21s, 2m05s, 3h07m, 2d4h.
func Duration(d time.Duration) string { return precise(d) }
