// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

const (
	// copiesState prefixes the names of state that has copies of spans of other
	// components.
	copiesState = "spans/"
	// maxCopies is how many bytes of them are kept at most.
	maxCopies = 16 << 20
	// chunkCost is about what a chunk takes beside its content.
	chunkCost = 128
)

// copies are what waits to be joined, in the store: a sender is answered when its
// spans are there, so that no kill loses them. They are in chunks, each with the
// names of those of older chunks that have gone meanwhile. A chunk goes, the oldest
// first, when nothing of it is held any more, or all that is has come into a trace;
// and when a newer one has no room: what has waited longest has the least hope.
//
// Copies are changes of state until somebody writes them. The zero value has none.
type copies struct {
	chunks []copied
	// last is the number of the newest chunk; numbers only grow.
	last  uint64
	bytes int
	// unwritten is state that is to be stored; nil removes a name.
	unwritten map[string][]byte
	// found are those of the server before, under the names old, that are still
	// to be taken in.
	found []*span.Span
	old   []string
	// lost counts the spans whose copies went for want of room.
	lost int64
}

// copied is one chunk.
type copied struct {
	place uint64
	bytes int
	// held is how many of its spans are.
	held int
	at   time.Time
}

// copyName is the name of a chunk; names sort as numbers do.
func copyName(place uint64) string { return fmt.Sprintf("%s%020d", copiesState, place) }

// next is the number of the chunk that put will make.
func (c *copies) next() uint64 { return c.last + 1 }

// first is the number of the oldest chunk.
func (c *copies) first() uint64 {
	if len(c.chunks) == 0 {
		return c.next()
	}
	return c.chunks[0].place
}

// idle reports whether a look would change nothing.
func (c *copies) idle() bool { return len(c.chunks)+len(c.unwritten)+len(c.old) == 0 }

// put makes a chunk of what has come and what has gone, and lets chunks go that
// nobody needs.
func (c *copies) put(fresh []*span.Span, left []stitch.Left, now time.Time) {
	for _, l := range left {
		if i, there := c.find(l.Place); there {
			c.chunks[i].held--
		}
	}
	for len(c.chunks) > 0 && c.chunks[0].held == 0 {
		c.drop()
	}
	left = slices.DeleteFunc(left, func(l stitch.Left) bool { _, there := c.find(l.Place); return !there })
	if len(fresh) == 0 && len(left) == 0 {
		return
	}
	c.last++
	data := encodeCopies(fresh, left)
	c.change(copyName(c.last), data)
	c.chunks = append(c.chunks, copied{place: c.last, bytes: len(data) + chunkCost, held: len(fresh), at: now})
	c.bytes += len(data) + chunkCost
	for c.bytes > maxCopies && len(c.chunks) > 1 {
		c.lost += int64(c.chunks[0].held)
		c.drop()
	}
}

// expire lets the chunks go of what came a window ago, after what waited no longer
// has been let go of: what is still held has come into a trace.
func (c *copies) expire(window time.Duration, now time.Time) {
	for len(c.chunks) > 0 && now.Sub(c.chunks[0].at) >= window {
		c.drop()
	}
}

// begin forgets what is kept: the store is another.
func (c *copies) begin() {
	for len(c.chunks) > 0 {
		c.drop()
	}
}

func (c *copies) find(place uint64) (int, bool) {
	return slices.BinarySearchFunc(c.chunks, place, func(chunk copied, place uint64) int {
		switch {
		case chunk.place < place:
			return -1
		case chunk.place > place:
			return 1
		}
		return 0
	})
}

// drop removes the oldest chunk.
func (c *copies) drop() {
	c.change(copyName(c.chunks[0].place), nil)
	c.bytes -= c.chunks[0].bytes
	c.chunks = slices.Delete(c.chunks, 0, 1)
}

// change notes state that is to be stored.
func (c *copies) change(name string, to []byte) {
	if c.unwritten == nil {
		c.unwritten = map[string][]byte{}
	}
	c.unwritten[name] = to
}

// takeFound returns what the server before has left, once. Its chunks go when new
// copies are stored.
func (c *copies) takeFound() []*span.Span {
	out := c.found
	for _, name := range c.old {
		c.change(name, nil)
	}
	c.found, c.old = nil, nil
	return out
}
