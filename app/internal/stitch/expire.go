// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Expire ends the wait of spans older than the window. Reads and similar requests are dropped as
// noise. Other spans are returned in their original traces, unless the options drop them (rule X4).
// In mode Link, joined spans are returned as well. Expire also forgets open traces without a Join
// for the window, and closes finished traces after Options.Keep.
func (s *Stitcher) Expire(now time.Time) []*span.Trace {
	s.endings.close(now)
	for c := range s.traces.open {
		if now.Sub(c.seen) > s.opts.Window {
			s.traces.forget(c)
		}
	}
	s.resolver.settle()
	for _, queue := range []*list{s.buffer.forest.weak, s.buffer.forest.waiting} {
		for queue.head != nil && now.Sub(queue.head.seen) >= s.opts.Window {
			s.passing.letGo(queue.head, &s.stats.Expired)
		}
	}
	s.resolver.settle()
	return s.passing.take()
}

// makeRoom removes the oldest spans until the rest is within the bounds: first weak spans, then
// waiting ones, then those with a home.
func (s *Stitcher) makeRoom() {
	f := &s.buffer.forest
	for s.isFull() {
		switch {
		case f.weak.head != nil:
			s.passing.letGo(f.weak.head, &s.stats.Evicted)
		case f.waiting.head != nil:
			s.passing.letGo(f.waiting.head, &s.stats.Evicted)
		case f.homed.head != nil:
			for _, n := range walk(f.homed.head.top(), nil) {
				s.stats.Evicted++
				s.buffer.remove(n)
			}
		default:
			s.stats.Evicted += int64(len(s.passing.spans))
			s.passing.spans, s.passing.bytes = nil, 0
			return
		}
		s.resolver.settle()
	}
}
