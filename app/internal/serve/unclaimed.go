// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/shard"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// claimable is for how long a finished trace is kept that is another
	// server's: until that has stored it, or is known to be gone, and what comes
	// late has come.
	claimable = 2 * time.Minute
	// maxUnclaimed is how many are kept, the newest ones, and maxHeld how many
	// amendments of each.
	maxUnclaimed, maxHeld = 10_000, 100
)

// unclaimed are finished traces of which something is another server's, while
// this one observes the same: what a namespace's old owner finishes, and what is
// of cluster scope. If that server goes before it has stored them, nobody else
// could tell of them again, for an engine hands out each trace once.
type unclaimed []passed

// passed is a trace that was passed over, as a whole or in part.
type passed struct {
	trace  *span.Trace
	others []string
	// kept is how many of its spans are stored here.
	kept  int
	since time.Time
	// late are the amendments that another server tells, unless it has gone and
	// nobody knows yet.
	late []*span.Span
}

// claim returns the traces of which more is this server's than it has stored, as
// it will have from now on, and forgets those that cannot become its own any more.
func (u *unclaimed) claim(s share, now time.Time) []*span.Trace {
	if s.part == nil {
		*u = nil
		return nil
	}
	var out []*span.Trace
	for i := range *u {
		p := &(*u)[i]
		if n := mine(s, p.trace); n > p.kept {
			out, p.kept = append(out, p.trace), n
		}
	}
	*u = slices.DeleteFunc(*u, func(p passed) bool { return now.Sub(p.since) > claimable })
	return out
}

// keep notes which of the finished traces may become this server's.
func (u *unclaimed) keep(finished []*span.Trace, s share, now time.Time) {
	if s.part == nil {
		return
	}
	for _, t := range finished {
		if others := s.others(t); len(others) > 0 {
			*u = append(*u, passed{trace: t, others: others, kept: mine(s, t), since: now})
		}
	}
	if over := len(*u) - maxUnclaimed; over > 0 {
		*u = slices.Delete(*u, 0, over)
	}
}

// leaves reports whether those who have stored what the amendment adds to have
// gone, and left it to this server to tell.
func (u unclaimed) leaves(s share, amendment *span.Span) bool {
	p := u.find(amendment)
	return p != nil && p.leaves(s, amendment)
}

// hold keeps an amendment that is another server's to tell.
func (u unclaimed) hold(amendment *span.Span) {
	if p := u.find(amendment); p != nil && len(p.late) < maxHeld {
		p.late = append(p.late, amendment)
	}
}

// release returns the amendments that were held and are this server's by now.
func (u unclaimed) release(s share) []*span.Trace {
	var out []*span.Trace
	for i := range u {
		p := &u[i]
		t := &span.Trace{ID: p.trace.ID}
		p.late = slices.DeleteFunc(p.late, func(amendment *span.Span) bool {
			leaves := p.leaves(s, amendment)
			if leaves {
				t.Spans = append(t.Spans, amendment)
			}
			return leaves
		})
		if len(t.Spans) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// find returns the trace that the amendment adds to; nil if it is not kept.
func (u unclaimed) find(amendment *span.Span) *passed {
	i := slices.IndexFunc(u, func(p passed) bool { return p.trace.ID == amendment.TraceID })
	if i < 0 {
		return nil
	}
	return &u[i]
}

// leaves reports whether the others have gone before they could tell of the
// amendment. One that has no resourceVersion they may have told.
func (p *passed) leaves(s share, amendment *span.Span) bool {
	told, ok := s.succeeds(shard.NamespaceOf(p.trace, amendment), p.others)
	rv := versionOf(amendment)
	return ok && (rv == 0 || rv > told)
}

// versionOf is the resourceVersion of the Event that an amendment tells; 0 if it
// tells of none.
func versionOf(amendment *span.Span) uint64 {
	for _, a := range amendment.Attributes {
		if rv := a.Value.AsInt64(); a.Key == span.KeyRV && rv > 0 {
			return uint64(rv)
		}
	}
	return 0
}

// mine is how many spans of t are this server's.
func mine(s share, t *span.Trace) int {
	if part := s.part(t); part != nil {
		return len(part.Spans)
	}
	return 0
}
