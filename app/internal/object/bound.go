// SPDX-License-Identifier: Apache-2.0

package object

// maxText bounds any text that a cluster supplies.
const maxText = 1024

// Bound cuts a text from a cluster to at most 1024 bytes, at a rune boundary.
func Bound(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText - len("…")
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
