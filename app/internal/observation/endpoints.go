// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"encoding/base64"
	"encoding/binary"
	"iter"
	"strings"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"
)

// Endpoints is the part of an EndpointSlice for the spans of its Pods.
type Endpoints struct {
	// Service is the name of the Service with these endpoints.
	Service string `json:"service,omitempty"`
	// Ready holds the keys of the ready Pods, each in eight characters, sorted as text.
	Ready string `json:"ready,omitempty"`
}

// EndpointKey stands for a Pod in an EndpointSlice. It is a digest of 48 bits, since a Pod's UID is
// long and a Service has many endpoints.
type EndpointKey uint64

// keyChars is the length of a key as text.
const keyChars = 8

// KeyOfEndpoint returns the key of a Pod. A slice refers to Pods of its own namespace only.
func KeyOfEndpoint(namespace string, uid types.UID) EndpointKey {
	var h xxhash.Digest
	h.Reset()
	_, _ = h.WriteString(namespace)
	_, _ = h.WriteString("/")
	_, _ = h.WriteString(string(uid))
	return EndpointKey(h.Sum64() >> 16)
}

// AppendText appends the key as text.
func (k EndpointKey) AppendText(b []byte) []byte {
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], uint64(k))
	return base64.RawURLEncoding.AppendEncode(b, digest[2:])
}

// Keys yields the keys of the ready Pods that are not ready in before. It ends at a malformed key.
// before may be nil.
func (e *Endpoints) Keys(before *Endpoints) iter.Seq[EndpointKey] {
	return func(yield func(EndpointKey) bool) {
		known := ""
		if before != nil {
			known = before.Ready
		}
		for rest := e.Ready; len(rest) >= keyChars; rest = rest[keyChars:] {
			text := rest[:keyChars]
			for len(known) >= keyChars && known[:keyChars] < text {
				known = known[keyChars:]
			}
			if strings.HasPrefix(known, text) {
				continue
			}
			if key, ok := parseKey(text); !ok || !yield(key) {
				return
			}
		}
	}
}

func parseKey(text string) (EndpointKey, bool) {
	var chars [keyChars]byte
	var digest [8]byte
	copy(chars[:], text)
	_, err := base64.RawURLEncoding.Decode(digest[2:], chars[:])
	return EndpointKey(binary.BigEndian.Uint64(digest[:])), err == nil
}
