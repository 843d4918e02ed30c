// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/dchest/siphash"
)

const (
	// minWord is the length of the shortest masked value in bytes: "true" or "1" are in many sentences.
	minWord = 6
	// maxWord bounds a value that is known as a whole; longer ones are known by their parts.
	maxWord = 4 << 10
	// maxWords bounds the words of one object, and maxContent the bytes of its values.
	maxWords   = 4096
	maxContent = 1 << 20
	// maxBefore bounds the words of all earlier versions of an object. Above, only those of the version before
	// are known.
	maxBefore = 256
)

// key is the key of all digests.
type key struct{ k0, k1 uint64 }

func (k key) sum(b []byte) uint64 { return siphash.Hash(k.k0, k.k1, b) }

// head returns the digest of the first bytes of a word.
func (k key) head(b []byte) uint32 { return uint32(k.sum(b[:minWord])) } //nolint:gosec // a part is enough

// Words are the values of an object, as keyed digests of their canonical forms. They do not change.
type Words struct {
	// all are the words, sorted by their heads.
	all []word
	// bloom has a bit for each head, by its first bits.
	bloom [16]uint64
	// more means that the object has more words, so it is unknown which values its messages quote.
	more bool
	// id is a digest of all words.
	id uint64
}

// word is the digest of a word.
type word struct {
	sum  uint64
	head uint32
	// size is the length in bytes.
	size uint16
	// letters means that the word has letters only. It may be a part of an ordinary word.
	letters bool
}

func (a word) compare(b word) int {
	return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(b.size, a.size), cmp.Compare(a.sum, b.sum))
}

// size returns the memory of the words in bytes.
func (w *Words) size() int { return 192 + 16*cap(w.all) }

// mayHave reports whether there can be words with that head.
func (w *Words) mayHave(head uint32) bool { return w.bloom[head>>28]&(1<<(head>>22&63)) != 0 }

// candidates returns the words with that head, the longest first.
func (w *Words) candidates(head uint32) []word {
	from, found := slices.BinarySearchFunc(w.all, head, func(a word, h uint32) int { return cmp.Compare(a.head, h) })
	if !found {
		return nil
	}
	to := from
	for to < len(w.all) && w.all[to].head == head {
		to++
	}
	return w.all[from:to]
}

var (
	// none are the words of an object without values.
	none = &Words{}
	// unknown are the words of an object that are not remembered.
	unknown = &Words{more: true}
)

// Unknown returns the words of an object with unknown values: text about it, or about its relatives, is not shown.
func Unknown() *Words { return unknown }

// words returns sorted words; unknown if there are more.
func words(all []word, more bool) *Words {
	switch {
	case more:
		return unknown
	case len(all) == 0:
		return none
	}
	slices.SortFunc(all, word.compare)
	if all = slices.Compact(all); len(all) > maxWords {
		return unknown
	}
	w := &Words{all: slices.Clone(all)}
	sum := xxhash.New()
	var b [8]byte
	for _, each := range w.all {
		_, _ = sum.Write(binary.LittleEndian.AppendUint64(b[:0], each.sum))
		w.bloom[each.head>>28] |= 1 << (each.head >> 22 & 63)
	}
	w.id = sum.Sum64()
	return w
}

// union returns the words of the version before and of those before it, as far as they are not too many. nil means
// that there is no such version.
func union(before, now *Words) *Words {
	switch {
	case now.more || before != nil && before.more:
		return unknown
	case before == nil || before == none || before == now:
		return now
	case now == none:
		return before
	case len(before.all)+len(now.all) > maxBefore:
		return now
	}
	return words(slices.Concat(before.all, now.all), false)
}
