// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

// maxDecisions bounds the cache; the least recently used decision goes.
const maxDecisions = 100_000

// decisions is a cache of decisions. A decision holds from the beginning of its review on.
type decisions struct {
	of    *cache.LRUExpireCache
	clock clock.PassiveClock
}

// decision is the result of a review that began at a time.
type decision struct {
	granted bool
	began   time.Time
}

// decisionKey is a right of a user.
type decisionKey struct {
	user  userID
	right Right
}

// userID is a digest of a user: all that a review depends on.
type userID [sha256.Size]byte

func newDecisions(c clock.PassiveClock) *decisions {
	return &decisions{cache.NewLRUExpireCacheWithClock(maxDecisions, c), c}
}

func (d *decisions) now() time.Time { return d.clock.Now() }

// get returns a decision that holds, for a repeated question or another one.
func (d *decisions) get(key decisionKey, again bool) (granted, known bool) {
	value, known := d.of.Get(key)
	if !known {
		return false, false
	}
	of := value.(decision) //nolint:forcetypeassert // the cache has no others
	if !of.granted && !again && d.now().Sub(of.began) >= refusalTime {
		return false, false
	}
	return of.granted, true
}

// put keeps the decision of a review that began at a time.
func (d *decisions) put(key decisionKey, granted bool, began time.Time) {
	holds := repeatedTime
	if granted {
		holds = grantTime
	}
	if holds -= d.now().Sub(began); holds > 0 {
		d.of.Add(key, decision{granted, began}, holds)
	}
}

// digest returns the ID of a user. Texts have their length in front, so that no two users share an ID.
func digest(u user.Info) (id userID) {
	h := sha256.New()
	write(h, u.GetName(), u.GetUID())
	write(h, slices.Sorted(slices.Values(u.GetGroups()))...)
	extra := u.GetExtra()
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		write(h, key)
		write(h, extra[key]...)
	}
	h.Sum(id[:0])
	return id
}

// write adds a list of texts.
func write(h hash.Hash, texts ...string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(texts)))
	h.Write(n[:])
	for _, text := range texts {
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
}
