// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxLooks bounds the statuses of one reconciliation that are told apart.
const maxLooks = 256

// progresses reports whether w gets r further. A status that r has shown before does not: who fails
// again and again alternates between a few.
func (d *derivation) progresses(r *reconciliation, w *write) bool {
	if w.v == nil || w.part != observed {
		return true
	}
	seen, look := d.looks[r], w.v.look()
	if _, again := seen[look]; again || len(seen) >= maxLooks {
		return false
	}
	if seen == nil {
		seen = map[uint64]struct{}{}
		d.looks[r] = seen
	}
	seen[look] = struct{}{}
	return true
}

// look is a digest of how far the object has come: without times, messages and restart counts.
func (v *version) look() uint64 {
	h := xxhash.New()
	word := func(words ...string) {
		for _, s := range words {
			_, _ = h.WriteString(s)
			_, _ = h.Write([]byte{0})
		}
	}
	number := func(numbers ...int64) {
		var b [8]byte
		for _, n := range numbers {
			binary.LittleEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // only to be digested
			_, _ = h.Write(b[:])
		}
	}
	word(string(v.UID), string(v.Progress))
	number(v.ObservedGeneration)
	for _, c := range v.Conditions {
		word(c.Type, c.Status, c.Reason)
	}
	if w := v.Workload; w != nil {
		number(int64(w.Replicas), int64(w.Total), int64(w.Updated), int64(w.Ready), int64(w.Available))
	}
	if p := v.Pod; p != nil {
		word(p.Node, p.Phase, p.Reason)
		for _, list := range [][]*observation.Container{p.Init, p.Containers} {
			for _, c := range list {
				word(c.Name)
				if s := c.State; s != nil {
					number(int64(s.ExitCode), truth(s.Waiting), truth(c.Ready))
					word(s.Reason)
				}
			}
		}
	}
	return h.Sum64()
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
