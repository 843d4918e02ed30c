// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
)

// lister merges entries in memory with pages of the archive.
type lister[T any] struct {
	limit int
	// key identifies an entry; of two equal ones, the first that was added counts. order is
	// negative if a comes before b. after reports whether an entry is behind the cursor; nil
	// without one.
	key   func(*T) string
	order func(a, b *T) int
	after func(*T) bool

	entries []T
	seen    map[string]bool
	// last is the last entry of the archive's page that has a next one; entries behind it wait for
	// the next page.
	last *T
}

func (l *lister[T]) add(e T) {
	if l.after != nil && !l.after(&e) {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if key := l.key(&e); !l.seen[key] {
		l.seen[key] = true
		l.entries = append(l.entries, e)
	}
}

// fill adds pages of the archive, until the list is long enough or the archive has no more.
func (l *lister[T]) fill(next func() (page []T, last bool, err error)) error {
	for {
		page, last, err := next()
		if err != nil {
			l.last = nil // what is in memory is the whole list
			return err
		}
		for i := range page {
			l.add(page[i])
		}
		if last || len(page) == 0 {
			l.last = nil
			return nil
		}
		l.last = &page[len(page)-1]
		if l.ready() >= l.limit {
			return nil
		}
	}
}

// ready counts the entries that no further page of the archive comes before.
func (l *lister[T]) ready() int {
	if l.last == nil {
		return len(l.entries)
	}
	n := 0
	for i := range l.entries {
		if l.order(&l.entries[i], l.last) <= 0 {
			n++
		}
	}
	return n
}

// least returns the last entry of the page so far, or nil if the page has room for any.
func (l *lister[T]) least() *T {
	if l.ready() < l.limit {
		return nil
	}
	slices.SortFunc(l.entries, func(a, b T) int { return l.order(&a, &b) })
	return &l.entries[l.limit-1]
}

// page returns the first entries, and whether there are more.
func (l *lister[T]) page() (page []T, more bool) {
	slices.SortFunc(l.entries, func(a, b T) int { return l.order(&a, &b) })
	n := min(l.limit, l.ready())
	return l.entries[:n], n > 0 && (n < len(l.entries) || l.last != nil)
}
