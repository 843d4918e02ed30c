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
	// copiesState prefixes the names of state with copies of other components' spans.
	copiesState = "spans/"
	// maxCopies bounds the copies, in bytes: those of 500 Pods that start, with all sources.
	maxCopies = 64 << 20
	// copiesAge is the age of a chunk at which its remaining spans are copied again, and restAge the
	// age of the chunks that this empties: the chunks of a change that stays open would keep those of
	// all later ones.
	copiesAge, restAge = 10 * time.Minute, 5 * time.Minute
	// chunkCost is the approximate overhead of a chunk.
	chunkCost = 128
)

// copies are the stored spans whose traces are not in the log yet: they wait for a trace, or it is
// still open. A sender gets its answer when its spans are stored, so a kill loses none. Copies are
// stored in chunks. Each chunk also names the copies in older chunks that are not needed any more.
// The oldest chunk is deleted when all of its spans have left. It is also deleted for lack of space,
// since its spans are the least likely to find their trace.
//
// Copies are changes of state until the caller stores them. The zero value has none.
type copies struct {
	chunks []copied
	// last is the number of the newest chunk; numbers only grow.
	last  uint64
	bytes int
	// unwritten is the state to store; nil removes a name.
	unwritten map[string][]byte
	// found are the copies of the previous server, under the names old, that are not taken in yet.
	found []*span.Span
	old   []string
	// lost counts the spans whose copies were dropped for lack of space.
	lost int64
}

// copied is one chunk.
type copied struct {
	place uint64
	bytes int
	// held counts its spans that still wait.
	held int
	at   time.Time
}

// copyName is the name of a chunk; names sort in the order of numbers.
func copyName(place uint64) string { return fmt.Sprintf("%s%020d", copiesState, place) }

// next is the number of the next chunk.
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

// put makes a chunk of new copies and of the keys that left older chunks. It deletes chunks that
// are not needed any more.
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

// aged returns the last place whose spans are to be copied again; 0 if no chunk is that old.
func (c *copies) aged(now time.Time) (last uint64) {
	if len(c.chunks) == 0 || now.Sub(c.chunks[0].at) < copiesAge {
		return 0
	}
	for _, chunk := range c.chunks {
		if now.Sub(chunk.at) >= restAge {
			last = chunk.place
		}
	}
	return last
}

// empty deletes the chunks up to a place, whose spans are copied again.
func (c *copies) empty(last uint64) {
	for len(c.chunks) > 0 && c.chunks[0].place <= last {
		c.drop()
	}
}

// begin deletes all chunks, for a new store.
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

// change notes state to store.
func (c *copies) change(name string, to []byte) {
	if c.unwritten == nil {
		c.unwritten = map[string][]byte{}
	}
	c.unwritten[name] = to
}

// takeFound returns the copies of the previous server, once. Their chunks are deleted with the next
// stored copies.
func (c *copies) takeFound() []*span.Span {
	out := c.found
	for _, name := range c.old {
		c.change(name, nil)
	}
	c.found, c.old = nil, nil
	return out
}
