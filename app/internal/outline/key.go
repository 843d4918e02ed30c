// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Key names a list of nodes that an outline hides.
type Key struct {
	list list
	// of is the span above the nodes; zero for the roots.
	of trace.SpanID
	// alike is the hash of what the members of a group have in common.
	alike uint32
	// From is the number of the first node, from 0.
	From int
}

// list is a list of nodes.
type list byte

const (
	// children are those that an outline shows without a key, and further ones.
	children list = 'c'
	// others are the children of other components.
	others list = 'o'
	// members are those of a group.
	members list = 'g'
)

// String returns a form for ParseKey: a letter, a span ID, for a group a hash, and the number of the
// first node.
func (k Key) String() string {
	if k.list == 0 {
		return ""
	}
	text := string(k.list) + k.of.String()
	if k.list == members {
		text += fmt.Sprintf("%08x", k.alike)
	}
	if k.From > 0 {
		text += ":" + strconv.Itoa(k.From)
	}
	return text
}

// ErrKey means that a text is no key.
var ErrKey = errors.New("no key of an outline")

// ParseKey reads a key from Key.String. The error is ErrKey.
func ParseKey(text string) (Key, error) {
	bad := fmt.Errorf("%.80q: %w", text, ErrKey)
	whole, from, paged := strings.Cut(text, ":")
	if whole == "" {
		return Key{}, bad
	}
	k := Key{list: list(whole[0])}
	raw, err := hex.DecodeString(whole[1:])
	length := len(k.of)
	switch k.list {
	case children, others:
	case members:
		length += 4
	default:
		return Key{}, bad
	}
	if err != nil || len(raw) != length {
		return Key{}, bad
	}
	for _, b := range raw[copy(k.of[:], raw):] {
		k.alike = k.alike<<8 | uint32(b)
	}
	if paged {
		if k.From, err = strconv.Atoi(from); err != nil || k.From < 1 || from != strconv.Itoa(k.From) {
			return Key{}, bad
		}
	}
	return k, nil
}
