// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/dchest/siphash"
)

// digest hashes decoded JSON in a canonical form. Every value begins with its type, strings carry
// their length, and the keys of an object are sorted.
type digest struct {
	k0, k1 uint64
	// form is the canonical form so far.
	form []byte
}

// digests are unused digests.
var digests = sync.Pool{New: func() any { return &digest{} }}

// digest returns a digest under the key. The caller may put it into digests when it is done.
func (n *Normalizer) digest() *digest {
	d := digests.Get().(*digest) //nolint:forcetypeassert // the pool has nothing else
	d.k0, d.k1, d.form = n.k0, n.k1, d.form[:0]
	return d
}

// sum returns the digest and makes d ready for the next value.
func (d *digest) sum() uint64 {
	sum := siphash.Hash(d.k0, d.k1, d.form)
	d.form = d.form[:0]
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
	d.form = append(d.form, s...)
}

func (d *digest) word(tag byte, v uint64) {
	d.form = binary.LittleEndian.AppendUint64(append(d.form, tag), v)
}
