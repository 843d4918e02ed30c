// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// Cursor is a place in a list. It is opaque, safe in a URL, and valid for lists with the same
// filters in the same engine.
type Cursor string

// NewCursor returns the cursor of an entry, for engines. It holds a number to sort by (Unix
// nanoseconds), and a key that distinguishes entries with the same number.
func NewCursor(at int64, key []byte) Cursor {
	//nolint:gosec // all 64 bits come back
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(at))
	return Cursor(base64.RawURLEncoding.EncodeToString(append(raw, key...)))
}

// Position returns the arguments of NewCursor. The error is ErrCursor if c has another format or a
// key of another length.
func (c Cursor) Position(length int) (at int64, key []byte, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(raw) != 8+length {
		return 0, nil, fmt.Errorf("%w %.80q", ErrCursor, string(c))
	}
	return int64(binary.BigEndian.Uint64(raw)), raw[8:], nil //nolint:gosec // all 64 bits come back
}
