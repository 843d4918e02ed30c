// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShown limits the part of a value in a message, in bytes.
const maxShown = 80

// shorten cuts a text for a message.
func shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// printable returns a text as part of a path: cut, on one line, without control characters.
func printable(text string) string {
	quoted := strconv.Quote(shorten(text))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
