// SPDX-License-Identifier: Apache-2.0

package received

import "time"

// maxPending limits the pending pairs.
const maxPending = 1 << 14

// pairs counts expected items, and how many of them arrived. The two halves of a pair have the same
// key, and come in any order and any number. A pair is counted once, at the age of patience. Above
// maxPending, pairs samples: it ignores keys without enough zero bits at the end. Sampling by key
// keeps the share of arrived items right.
type pairs struct {
	patience time.Duration
	pending  map[uint64]halves
	// queue has the pending keys from head on, oldest first.
	queue []queued
	head  int
	// zeros is the required number of zero bits. thinned is the time of the latest ignored key.
	zeros   uint
	thinned time.Time
	// of counts the expected items, and with those that arrived.
	of, with series
}

// halves is a set of the halves of a pair.
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

// note records one half of a pair.
func (p *pairs) note(half halves, key uint64, now time.Time) {
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

// counts reports whether key is in the sample.
func (p *pairs) counts(key uint64) bool { return key&(1<<p.zeros-1) == 0 }

// thin halves the sample until at most half of maxPending are pending.
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

// judge counts and removes the pairs older than patience. If none is left and no key was ignored
// for that time, it ends sampling.
func (p *pairs) judge(now time.Time) {
	for p.head < len(p.queue) && now.Sub(p.queue[p.head].at) >= p.patience {
		key := p.queue[p.head].key
		p.head++
		half := p.pending[key]
		delete(p.pending, key)
		if half&expected == 0 {
			continue
		}
		p.of.count(1, now)
		if half&came != 0 {
			p.with.count(1, now)
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
