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
	maxWords   = 1024
	maxContent = 256 << 10
)

// key is the key of all digests.
type key struct{ k0, k1 uint64 }

func (k key) sum(b []byte) uint64 { return siphash.Hash(k.k0, k.k1, b) }

// head returns the digest of the first bytes of a word.
func (k key) head(b []byte) uint32 { return uint32(k.sum(b[:minWord])) } //nolint:gosec // a part is enough

// Words are the values of one version of an object, as keyed digests. They do not change.
type Words struct {
	// all are the words, sorted by their heads.
	all []word
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
func (w *Words) size() int { return 64 + 16*cap(w.all) }

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

// words returns sorted words; unknown if there are more.
func words(all []word, more bool) *Words {
	switch {
	case more:
		return unknown
	case len(all) == 0:
		return none
	}
	slices.SortFunc(all, word.compare)
	w := &Words{all: slices.Clone(slices.Compact(all))}
	sum := xxhash.New()
	var b [8]byte
	for _, each := range w.all {
		_, _ = sum.Write(binary.LittleEndian.AppendUint64(b[:0], each.sum))
	}
	w.id = sum.Sum64()
	return w
}
