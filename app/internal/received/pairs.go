// SPDX-License-Identifier: Apache-2.0

package received

import "time"

// maxPending is how many pairs wait to be judged.
const maxPending = 1 << 14

// pairs counts of how many things that are expected their other half came. The
// halves come in any order and more than once; each pair is judged when it is
// patience old. Where there are too many, only those are looked at whose key has
// zeros at its end: of both halves the same, so the share stays right.
type pairs struct {
	patience time.Duration
	pending  map[uint64]halves
	// queue are the keys in the order in which they came first, from head on.
	queue []queued
	head  int
	// zeros is how many a key must have; thinned is when the last was passed over
	// that has not.
	zeros   uint
	thinned time.Time
	// of are those that were judged, with those of which both halves were there.
	of, with series
}

// halves say which half of a pair is there.
type halves uint8

const (
	expected halves = 1 << iota
	came
)

type queued struct {
	key uint64
	at  time.Time
}

func newPairs(patience time.Duration) *pairs {
	return &pairs{patience: patience, pending: map[uint64]halves{}}
}

// add takes in one half of a pair.
func (p *pairs) add(half halves, key uint64, now time.Time) {
	p.judge(now)
	if known, there := p.pending[key]; there {
		p.pending[key] = known | half
		return
	}
	if len(p.pending) >= maxPending {
		p.thin()
	}
	if !p.counts(key) {
		p.thinned = now
		return
	}
	p.pending[key] = half
	p.queue = append(p.queue, queued{key, now})
}

func (p *pairs) counts(key uint64) bool { return key&(1<<p.zeros-1) == 0 }

// thin halves what is looked at, until there is room.
func (p *pairs) thin() {
	for len(p.pending) > maxPending/2 && p.zeros < 63 {
		p.zeros++
		for key := range p.pending {
			if !p.counts(key) {
				delete(p.pending, key)
			}
		}
	}
	kept := p.queue[:0]
	for _, q := range p.queue[p.head:] {
		if _, there := p.pending[q.key]; there {
			kept = append(kept, q)
		}
	}
	p.queue, p.head = kept, 0
}

// judge counts the pairs that have waited long enough.
func (p *pairs) judge(now time.Time) {
	for p.head < len(p.queue) && now.Sub(p.queue[p.head].at) >= p.patience {
		key := p.queue[p.head].key
		p.head++
		half := p.pending[key]
		delete(p.pending, key)
		if half&expected == 0 {
			continue
		}
		p.of.add(1, now)
		if half&came != 0 {
			p.with.add(1, now)
		}
	}
	if p.head > len(p.queue)/2 {
		p.queue = append(p.queue[:0], p.queue[p.head:]...)
		p.head = 0
	}
	if p.zeros > 0 && len(p.queue) == 0 && now.Sub(p.thinned) >= p.patience {
		p.zeros = 0
	}
}

func (p *pairs) rate(now time.Time) Rate {
	p.judge(now)
	return Rate{Of: p.of.sum(now), With: p.with.sum(now)}
}
