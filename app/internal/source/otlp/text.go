// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strings"
	"unicode/utf8"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// maxKnown and maxKnownText limit the number and the length of cached texts.
	maxKnown     = 1024
	maxKnownText = 64
	// uncut is above every length that object.Bound returns. Bytes beyond it need not be copied.
	uncut = 4096
	// maxBytes limits a value of type bytes, like object.Bound for texts.
	maxBytes = 1024
)

// texts makes the strings of a batch, bounded and valid UTF-8. They are copies because the body's
// memory is used again. Keys and names repeat, so they are cached.
type texts struct {
	known map[string]string
	// allocated is the total size of the strings made. cut counts the strings that were too long.
	allocated int
	cut       *int
}

// name is for texts with few distinct values; it caches them.
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

// text is for all other texts.
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

// bytes is for binary values.
func (t *texts) bytes(b []byte) []byte {
	if len(b) > maxBytes {
		*t.cut++
		b = b[:maxBytes]
	}
	t.allocated += len(b)
	return b
}
