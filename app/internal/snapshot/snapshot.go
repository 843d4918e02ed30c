// SPDX-License-Identifier: Apache-2.0

// Package snapshot is the format of an engine's saved state: protobuf in blocks with checksums. It
// converts the types of packages object, observation, history, change and cause. Package lifecycle
// converts the engine's own types.
//
// A state is a head, and then blocks. The blocks hold a sequence of Parts (state.proto), each after
// its length. So saving and restoring need the memory of one Part, in addition to the engine. A
// value with several references in neighbouring objects is saved once. A restored engine shares it as
// the saved one did.
package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// ErrFormat is the error for damaged or incomplete input, and for input of another format.
var ErrFormat = errors.New("not an engine's state that can be read")

// Version is the version of the format. It changes only if an older release cannot read the new
// format, or would misunderstand it. A new field needs no new version.
const Version = 1

// magic is the beginning of every saved engine. The version follows in one byte.
const magic = "lifeline engine\n"

// ReadVersion reads the head of a saved engine and returns the version of its format.
func ReadVersion(r io.Reader) (byte, error) {
	head := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, early(err)
	}
	if !bytes.HasPrefix(head, []byte(magic)) {
		return 0, fmt.Errorf("%w: it does not begin like one", ErrFormat)
	}
	return head[len(magic)], nil
}

// ByKey yields the entries of m in the order of their keys. So two saved states of one engine are equal.
func ByKey[K comparable, V any](m map[K]V, order func(a, b K) int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(m), order) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
