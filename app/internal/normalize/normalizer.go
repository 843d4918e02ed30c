// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/kube-lifeline/lifeline/app/internal/relation"
)

// KeySize is the size of a Normalizer's key in bytes.
const KeySize = 16

// Normalizer normalizes objects. All digests in its results depend on its key: without the key, a
// digest reveals nothing of a short value such as a password. The same object always gives the same
// result. A Normalizer may be used concurrently.
type Normalizer struct {
	k0, k1 uint64
	// declared are the relations of the configuration.
	declared *relation.Set
}

// New returns a Normalizer with that key and the relations of the configuration. These may be nil.
func New(key [KeySize]byte, declared *relation.Set) *Normalizer {
	return &Normalizer{
		k0: binary.LittleEndian.Uint64(key[:8]), k1: binary.LittleEndian.Uint64(key[8:]), declared: declared,
	}
}

// NewKey returns a random key.
func NewKey() (key [KeySize]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
}
