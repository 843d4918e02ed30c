// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// sighting is an observed request, stored under a digest of its audit ID.
type sighting struct {
	// content is a digest of the request. twice means that another request had the same audit ID.
	// Clients may choose that ID, so it then identifies neither request (rule X1).
	content uint64
	twice   bool
}

// Sight records a request. It reports whether the request was observed before (again), and whether another
// request had its audit ID (contradicted). The joins by that audit ID are then invalid.
func (tr *Trail) Sight(w *observation.Write) (again, contradicted bool) {
	key, content := sightingKey(w), contentOf(w)
	if w.AuditID == "" {
		key = content
	}
	known, again := tr.sightings[key]
	if !again {
		known, again = tr.earlier[key]
	}
	switch {
	case !again:
		tr.note(key, sighting{content: content})
		return false, false
	case known.content != content && !known.twice:
		known.twice = true
		tr.note(key, known)
		tr.tally.Contradicted++
		tr.doubts++
		contradicted = true
	}
	return known.content == content, contradicted
}

// sightingKey returns a digest of the audit ID. Events from a source without authentication have
// separate keys, so they contradict only each other.
func sightingKey(w *observation.Write) uint64 {
	key := xxhash.Sum64String(w.AuditID)
	if w.Unauthenticated {
		return ^key
	}
	return key
}

// contentOf returns a digest of the request fields that every level of the audit log contains.
func contentOf(w *observation.Write) uint64 {
	h := xxhash.New()
	for _, s := range []string{
		w.Group,
		w.Resource,
		w.Subresource,
		w.Namespace,
		w.Verb,
		w.User,
		w.Impersonator,
		w.UserAgent,
	} {
		_, _ = h.WriteString(s)
		_, _ = h.Write([]byte{0})
	}
	var b [24]byte
	binary.BigEndian.PutUint64(b[:], uint64(w.Start.UnixNano()))
	binary.BigEndian.PutUint64(b[8:], uint64(w.End.UnixNano()))
	binary.BigEndian.PutUint64(b[16:], uint64(w.Code)) //nolint:gosec // only to be digested
	_, _ = h.Write(b[:])
	return h.Sum64()
}

// Contradicted reports whether another request had the same audit ID.
func (tr *Trail) Contradicted(w *observation.Write) bool {
	key := sightingKey(w)
	known, ok := tr.sightings[key]
	if !ok {
		known = tr.earlier[key]
	}
	return known.twice
}

// note adds a digest to the younger generation, or replaces the known one.
func (tr *Trail) note(key uint64, s sighting) {
	if len(tr.sightings) >= MaxSightings/2 {
		tr.turnSightings()
	}
	tr.sightings[key] = s
}

func (tr *Trail) turnSightings() {
	tr.earlier, tr.sightings = tr.sightings, map[uint64]sighting{}
}
