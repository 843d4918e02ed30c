// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strings"
	"unicode/utf8"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// maxKnown and maxKnownText bound what texts remembers.
	maxKnown     = 1024
	maxKnownText = 64
	// uncut is longer than object.Bound lets anything be: what follows need
	// not be copied to be cut.
	uncut = 4096
	// maxBytes bounds a value of bytes, as object.Bound does texts.
	maxBytes = 1024
)

// texts makes the strings of a batch: copied, since the body is used again,
// bounded and valid UTF-8. Keys and names come over and over; they are kept once.
type texts struct {
	known map[string]string
	// allocated are the bytes of all strings made; cut counts those that were
	// too long.
	allocated int
	cut       *int
}

// name is for texts of which there are few.
func (t *texts) name(b []byte) string {
	if len(b) > maxKnownText {
		return t.text(b)
	}
	if s, ok := t.known[string(b)]; ok {
		return s
	}
	s := t.text(b)
	if t.known == nil {
		t.known = make(map[string]string, 64)
	}
	if len(t.known) < maxKnown {
		t.known[string(b)] = s
	}
	return s
}

// text is for all others.
func (t *texts) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	s := string(b[:min(len(b), uncut)])
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	bounded := object.Bound(s)
	if len(bounded) < len(s) || len(b) > uncut {
		*t.cut++
	}
	t.allocated += len(bounded)
	return bounded
}

// bytes is for values that are no text.
func (t *texts) bytes(b []byte) []byte {
	if len(b) > maxBytes {
		*t.cut++
		b = b[:maxBytes]
	}
	t.allocated += len(b)
	return b
}
