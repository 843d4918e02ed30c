// SPDX-License-Identifier: Apache-2.0

package render

import "strings"

// leastShared is the number of bytes from which two reasons with the same end count as the same.
const leastShared = 16

// reasons holds the reasons already shown, so that a failure with several witnesses (Pods of one
// ReplicaSet, and the objects above them) is shown once. The zero value is empty.
type reasons map[string]bool

// show records text.
func (r reasons) show(text string) {
	if text == "" {
		return
	}
	for rest := text; len(rest) >= leastShared || rest == text; {
		r[rest] = true
		if words := strings.SplitN(rest, " ", 3); len(words) == 3 && len(words[2]) >= leastShared {
			r[words[2]] = true // without its object: "Pod web-x cannot pull image web:2"
		}
		_, after, found := strings.Cut(rest, ": ")
		if !found {
			return
		}
		rest = after
	}
}

// repeats reports whether a shown reason has the same cause as text, and returns the part of text
// in front of that cause: "progress deadline exceeded" of "progress deadline exceeded: Pod web-x:
// image not found". It returns all of a text with a new cause.
func (r reasons) repeats(text string) (head string, repeated bool) {
	for at := 0; ; {
		if r[text[at:]] {
			return strings.TrimSuffix(text[:at], ": "), true
		}
		next := strings.Index(text[at:], ": ")
		if next < 0 {
			return text, false
		}
		at += next + len(": ")
	}
}
