// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MaxProblems bounds the problems of a list. More counts the others.
const MaxProblems = 1000

// List returns the problems at the time now, the worst first. The result does not change afterwards.
func (t *Tracker) List(now time.Time) List { return t.Snapshot(now).List }

// Snapshot returns the problems at the time now, with all their objects.
func (t *Tracker) Snapshot(now time.Time) *Snapshot {
	if t.Settle(); t.contents == nil {
		groups := t.ordered()
		slices.SortFunc(groups, worse)
		t.contents = newContents(groups)
	}
	return newSnapshot(t.contents, now)
}

// rank returns the highest rank of the objects.
func rank(g []*tracked) int {
	return slices.MaxFunc(g, func(a, b *tracked) int { return cmp.Compare(a.Rank, b.Rank) }).Rank
}

// worse orders problems: by rank, number of objects and age.
func worse(a, b []*tracked) int {
	return cmp.Or(
		cmp.Compare(rank(b), rank(a)),
		cmp.Compare(len(b), len(a)),
		older(a[0], b[0]),
	)
}

// assemble returns the problem of the entries of one key, the oldest first.
func assemble(g []*tracked) Problem {
	first := g[0]
	p := Problem{
		ID: first.ID, Category: first.Category, Reason: first.sentence(), Since: first.Onset.At,
		Before: first.Onset.Before, Note: rank(g) == 0, Object: first.Object, Count: len(g), Image: first.Image,
		Cause: first.Cause, Next: first.Next,
	}
	for _, f := range first.Earlier {
		p.Earlier = append(p.Earlier, Earlier(f))
	}
	namespaces, peers := map[string]bool{}, 0
	for _, e := range g {
		if len(p.Objects) < MaxObjects {
			p.Objects = append(p.Objects, e.Object)
		}
		namespaces[e.Object.Namespace] = true
		if e.place() != first.place() {
			continue
		}
		peers++
		if e.Image != p.Image {
			p.Image = ""
		}
		if first.Outside && !e.sameCause(p.Cause) {
			p.Cause = nil // several changes met the blamed object
		}
	}
	if first.Blamed != nil && (first.Shared || peers == 1) && *first.Blamed != first.Object {
		blamed := *first.Blamed
		p.Blamed = &blamed
	}
	p.Namespaces = bounded(namespaces)
	return p
}

func (e *tracked) sameCause(c *Cause) bool {
	return c != nil && e.Cause != nil && e.Cause.TraceID == c.TraceID
}

// bounded returns the first names in order, at most MaxObjects.
func bounded(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for n := range names {
		out = append(out, n)
	}
	slices.SortFunc(out, strings.Compare)
	return out[:min(len(out), MaxObjects)]
}
