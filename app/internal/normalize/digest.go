// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/binary"
	"hash"
	"math"
	"slices"

	"github.com/dchest/siphash"
)

// digest hashes decoded JSON in a canonical form. Every value begins with its type, strings carry
// their length, and the keys of an object are sorted.
type digest struct {
	hash hash.Hash64
	key  [KeySize]byte
	buf  [9]byte
}

func (n *Normalizer) newDigest() *digest {
	d := &digest{}
	binary.LittleEndian.PutUint64(d.key[:8], n.k0)
	binary.LittleEndian.PutUint64(d.key[8:], n.k1)
	d.hash = siphash.New(d.key[:])
	return d
}

// sum returns the digest and makes d ready for the next value.
func (d *digest) sum() uint64 {
	sum := d.hash.Sum64()
	d.hash.Reset()
	return sum
}

func (d *digest) value(v any) {
	switch v := v.(type) {
	case fields:
		d.object(v)
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

func (d *digest) object(m fields) {
	var few [24]string
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
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
	d.hash.Write([]byte(s)) //nolint:errcheck // a hash never fails
}

func (d *digest) word(tag byte, v uint64) {
	d.buf[0] = tag
	binary.LittleEndian.PutUint64(d.buf[1:], v)
	d.hash.Write(d.buf[:]) //nolint:errcheck // a hash never fails
}
