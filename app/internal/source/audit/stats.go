// SPDX-License-Identifier: Apache-2.0

package audit

import "sync/atomic"

// reason says why an event became no observation.
type reason int

// The reasons; their names are those of Passed.
const (
	taken reason = iota
	passedStage
	passedRead
	passedExcluded
	passedNotStored
	passedDryRun
	passedUnchanged
	passedUnnamed
	passedUnknownKind
	passedUnauthenticated
	reasons
)

var reasonNames = [reasons]string{
	"",
	"stage",
	"read",
	"excluded",
	"not stored",
	"dry run",
	"unchanged",
	"unnamed",
	"unknown kind",
	"unauthenticated",
}

// Stats says what came in and what became of it. It is a snapshot.
type Stats struct {
	// Events is how many were read; Writes how many observations they became. A
	// batch of the webhook counts once the sink has taken it.
	Events, Writes uint64
	// Passed counts events that became none, by reason: one of Reasons.
	Passed map[string]uint64
	// Damaged counts what is no audit event: batches, events of one, and lines;
	// Overlong counts lines that were too long to be read.
	Damaged, Overlong uint64
	// Impossible counts the events that became writes with other times, as their
	// own were impossible.
	Impossible uint64
	// Batches counts those of the webhook that were taken, Bytes what was read
	// of batches and files, unpacked; Refused counts requests by status.
	Batches, Bytes uint64
	Refused        map[int]uint64
	// Missing says that a file to follow is not there.
	Missing bool
	// Rotations counts new files that were followed, Truncations those that
	// began anew in place. Gaps counts those of either with which something may
	// have been lost: what had not been read was not there any more.
	Rotations, Truncations, Gaps uint64
}

// Reasons returns the reasons that Stats counts for which an event became no
// observation: of a stage before the answer; a read; of what is excluded; of
// what is not stored; a dry run; a write that changed nothing; one that does
// not name its object; one whose resource is of an unknown kind; and a refused one from
// an unauthenticated source beside an authenticated one.
func Reasons() []string { return append([]string(nil), reasonNames[taken+1:]...) }

// statuses are those with which a request may be refused.
var statuses = [...]int{400, 401, 405, 408, 413, 415, 429, 503}

type counters struct {
	events, writes, damaged, overlong, batches, bytes atomic.Uint64
	rotations, truncations, gaps, impossible          atomic.Uint64
	passed                                            [reasons]atomic.Uint64
	refused                                           [len(statuses)]atomic.Uint64
	missing                                           atomic.Bool
}

func (c *counters) refuse(code int) {
	for i, s := range statuses {
		if s == code {
			c.refused[i].Add(1)
		}
	}
}

// Stats returns a snapshot. It is cheap, and safe to call at any time.
func (s *Source) Stats() Stats {
	c := &s.counters
	out := Stats{
		Events:      c.events.Load(),
		Writes:      c.writes.Load(),
		Passed:      map[string]uint64{},
		Damaged:     c.damaged.Load(),
		Overlong:    c.overlong.Load(),
		Impossible:  c.impossible.Load(),
		Batches:     c.batches.Load(),
		Bytes:       c.bytes.Load(),
		Refused:     map[int]uint64{},
		Missing:     c.missing.Load(),
		Rotations:   c.rotations.Load(),
		Truncations: c.truncations.Load(),
		Gaps:        c.gaps.Load(),
	}
	for r := taken + 1; r < reasons; r++ {
		if n := c.passed[r].Load(); n > 0 {
			out.Passed[reasonNames[r]] = n
		}
	}
	for i, code := range statuses {
		if n := c.refused[i].Load(); n > 0 {
			out.Refused[code] = n
		}
	}
	return out
}
