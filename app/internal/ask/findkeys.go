// SPDX-License-Identifier: Apache-2.0

package ask

import "strings"

// splitKeys divides a text at its commas, apart from those within quotes, brackets or parentheses.
func splitKeys(text string) []string {
	var out []string
	depth, quote, from := 0, rune(0), 0
	escaped := false
	for i, r := range text {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			escaped = r == '\\'
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth--
		case r == ',' && depth <= 0:
			out, from = append(out, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}
