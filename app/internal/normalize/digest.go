// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// digest hashes decoded JSON in a canonical form. Every value begins with its type, strings carry
// their length, and the keys of an object are sorted. The form is stable, because trace IDs derive
// from it (rule C6).
type digest struct {
	hash xxhash.Digest
	buf  [9]byte
}

func newDigest() *digest {
	d := new(digest)
	d.hash.Reset()
	return d
}

func (d *digest) sum() uint64 { return d.hash.Sum64() }

func (d *digest) value(v any) {
	switch v := v.(type) {
	case fields:
		d.object(v, nil)
	case []any:
		d.word('[', uint64(len(v)))
		for _, item := range v {
			d.value(item)
		}
	case string:
		d.text(v)
	case int64:
		d.word('i', uint64(v)) //nolint:gosec // the bits are what is hashed
	case float64:
		d.word('f', math.Float64bits(v))
	case bool:
		if v {
			d.word('b', 1)
		} else {
			d.word('b', 0)
		}
	default:
		d.word('n', 0)
	}
}

// object hashes an object without the keys for which skip returns true.
func (d *digest) object(m fields, skip func(key string) bool) {
	var few [24]string
	keys := few[:0]
	for key := range m {
		if skip == nil || !skip(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	d.word('{', uint64(len(keys)))
	for _, key := range keys {
		d.text(key)
		d.value(m[key])
	}
}

func (d *digest) text(s string) {
	d.word('s', uint64(len(s)))
	d.hash.WriteString(s) //nolint:errcheck // a hash never fails
}

func (d *digest) word(tag byte, v uint64) {
	d.buf[0] = tag
	binary.LittleEndian.PutUint64(d.buf[1:], v)
	d.hash.Write(d.buf[:]) //nolint:errcheck // a hash never fails
}
