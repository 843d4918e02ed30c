// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// Cursor is a place in a list. Only who made it knows what it says: it is safe
// in a URL, and good for lists with the same filters in the same engine.
type Cursor string

// NewCursor makes the cursor of an entry, for engines: a number to sort by
// (Unix nanoseconds), and the key that tells entries with the same one apart.
func NewCursor(at int64, key []byte) Cursor {
	//nolint:gosec // all 64 bits come back
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(at))
	return Cursor(base64.RawURLEncoding.EncodeToString(append(raw, key...)))
}

// Position returns what NewCursor was given. It is an ErrCursor if c is not
// made so, or its key does not have that length.
func (c Cursor) Position(length int) (at int64, key []byte, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(raw) != 8+length {
		return 0, nil, fmt.Errorf("%w %.80q", ErrCursor, string(c))
	}
	return int64(binary.BigEndian.Uint64(raw)), raw[8:], nil //nolint:gosec // all 64 bits come back
}
