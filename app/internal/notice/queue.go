// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"slices"
	"time"
)

// maxPending bounds the notices that wait for one receiver.
const maxPending = 1000

// entry is a notice that waits for its delivery.
type entry struct {
	Notice
	// busy means that a request is in flight. due is the time of the next attempt, tries that of earlier ones.
	busy  bool
	due   time.Time
	tries int
}

// queue has the notices that wait for one receiver, in order. Notices of different problems do not wait
// for each other. It is not safe for concurrent use.
type queue struct {
	all []*entry
	// stored are the first entries that are in the store. Only these are delivered.
	stored int
}

func (q *queue) full() bool { return len(q.all) >= maxPending }

func (q *queue) add(n Notice) { q.all = append(q.all, &entry{Notice: n}) }

// next returns an entry to deliver now, and marks it as busy. Without one, it returns the time of the
// next attempt; zero if none is planned.
func (q *queue) next(now time.Time) (e *entry, due time.Time) {
	earlier := map[string]bool{}
	for _, e := range q.all[:q.stored] {
		key := e.key()
		if earlier[key] {
			continue
		}
		earlier[key] = true
		switch {
		case e.busy:
		case !e.due.After(now):
			e.busy = true
			e.tries++
			return e, time.Time{}
		case due.IsZero() || e.due.Before(due):
			due = e.due
		}
	}
	return nil, due
}

// remove removes a delivered or refused entry.
func (q *queue) remove(e *entry) {
	if i := slices.Index(q.all, e); i >= 0 {
		q.all = slices.Delete(q.all, i, i+1)
		if i < q.stored {
			q.stored--
		}
	}
}
