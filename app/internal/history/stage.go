// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Stage returns a digest of the progress of the object, without times, messages and restart counts.
func (v *Version) Stage() uint64 {
	text := make([]byte, 0, 512) // usually on the stack
	word := func(words ...string) {
		for _, s := range words {
			text = append(append(text, s...), 0)
		}
	}
	number := func(numbers ...int64) {
		for _, n := range numbers {
			text = binary.LittleEndian.AppendUint64(text, uint64(n)) //nolint:gosec // only to be digested
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
					number(int64(s.ExitCode), Truth(s.Waiting), Truth(c.Ready))
					word(s.Reason)
				}
			}
		}
	}
	return xxhash.Sum64(text)
}

// Truth returns 1 for true and 0 for false.
func Truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
