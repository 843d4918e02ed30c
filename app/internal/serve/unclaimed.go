// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/shard"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// claimable is the time for which another server's finished trace is kept. Within it that
	// server has stored the trace or counts as gone, and late data have come.
	claimable = 2 * time.Minute
	// maxUnclaimed bounds the kept traces to the newest, and maxHeld the amendments of each.
	maxUnclaimed, maxHeld = 10_000, 100
)

// unclaimed are finished traces with a part of another server, which this one observes as well:
// those of a namespace's old owner, and those of cluster scope. If that server stops before it has
// stored them, only this server can report them, since an engine hands out each trace once.
type unclaimed []passed

// passed is a trace that was not kept, as a whole or in part.
type passed struct {
	trace  *span.Trace
	others []string
	// kept is the number of its spans that are stored here.
	kept  int
	since time.Time
	// late are amendments for another server to store. That server may have stopped unnoticed.
	late []*span.Span
}

// claim returns the traces whose share of this server has grown, and updates that share. It drops
// traces that are too old to become its own.
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

// keep adds finished traces that may become this server's.
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

// leaves reports whether the servers that stored the extended trace have gone, and left the
// amendment to this server.
func (u unclaimed) leaves(s share, amendment *span.Span) bool {
	p := u.find(amendment)
	return p != nil && p.leaves(s, amendment)
}

// hold keeps an amendment that another server should store.
func (u unclaimed) hold(amendment *span.Span) {
	if p := u.find(amendment); p != nil && len(p.late) < maxHeld {
		p.late = append(p.late, amendment)
	}
}

// release returns the held amendments that now belong to this server.
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

// find returns the trace that the amendment extends; nil if it is not kept.
func (u unclaimed) find(amendment *span.Span) *passed {
	i := slices.IndexFunc(u, func(p passed) bool { return p.trace.ID == amendment.TraceID })
	if i < 0 {
		return nil
	}
	return &u[i]
}

// leaves reports whether the others stopped before they could store the amendment. They may have
// stored one without a resourceVersion.
func (p *passed) leaves(s share, amendment *span.Span) bool {
	stored, ok := s.succeeds(shard.NamespaceOf(p.trace, amendment), p.others)
	rv := versionOf(amendment)
	return ok && (rv == 0 || rv > stored)
}

// versionOf is the resourceVersion of the amendment's Event; 0 without one.
func versionOf(amendment *span.Span) uint64 {
	for _, a := range amendment.Attributes {
		if rv := a.Value.AsInt64(); a.Key == span.KeyRV && rv > 0 {
			return uint64(rv)
		}
	}
	return 0
}

// mine returns the number of spans of t that are this server's.
func mine(s share, t *span.Trace) int {
	if part := s.part(t); part != nil {
		return len(part.Spans)
	}
	return 0
}
