// SPDX-License-Identifier: Apache-2.0

package audit

import "sync/atomic"

// reason is the reason of a skipped event.
type reason int

// The reasons; reasonNames has the keys of Stats.Passed.
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

// Stats counts events by result. It is a snapshot.
type Stats struct {
	// Events counts the events that were read, Writes the resulting observations. A webhook batch
	// counts once the sink has accepted it.
	Events, Writes uint64
	// Passed counts skipped events by reason:
	//   - stage: a stage before the response
	//   - read: not a write
	//   - excluded: an excluded resource
	//   - not stored: a request that stores nothing
	//   - dry run
	//   - unchanged: a write without a change
	//   - unnamed: the object's name is not known
	//   - unknown kind: the kind of the resource is not known
	//   - unauthenticated: a refused write from an unauthenticated source beside an authenticated one
	Passed map[string]uint64
	// Damaged counts invalid batches, events and lines. Overlong counts lines above MaxLine.
	Damaged, Overlong uint64
	// Impossible counts writes whose times were impossible and were replaced.
	Impossible uint64
	// Batches counts accepted webhook batches. Bytes counts the bytes read from batches and files,
	// decompressed. Refused counts refused requests by HTTP status.
	Batches, Bytes uint64
	Refused        map[int]uint64
	// Missing means that a followed file does not exist.
	Missing bool
	// Rotations counts new files after a rotation, Truncations the files truncated in place. Gaps
	// counts the times that unread events may have been lost.
	Rotations, Truncations, Gaps uint64
}

// statuses are the HTTP statuses of refused requests.
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

// Stats returns a snapshot. It is cheap and safe for concurrent use.
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
