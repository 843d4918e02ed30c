// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// match is the way of joining a request to a stored write.
type match string

const (
	// byVersion means that the response has the resourceVersion of the write.
	byVersion match = "resource_version"
	// byPrecondition means that the request required the version before the write.
	byPrecondition match = "precondition"
	// byUID and byName mean that the request is the only possible one, in the order of the object's
	// writes. It has the UID of the object, or only its name.
	byUID  match = "uid"
	byName match = "name"
)

// Joined is a request of the audit log that made a stored write, and the way of joining it.
type Joined struct {
	*observation.Write
	How match
}

// Joins are the requests that made the writes to one object (rule C2). They are a pure function of
// the timeline and of the timelines of the same name.
type Joins struct {
	// Doubts is the engine's count of doubts at the time of joining. The joins are out of date at
	// another count.
	Doubts int
	// Version holds the request of each version, by the object's resourceVersion.
	Version map[uint64]Joined
	// Removal holds the request of the removal. Its Write is nil if there is none.
	Removal Joined
	// Missed are the requests of stored writes without an observed version. The object was observed
	// before and after them.
	Missed []Joined
	// Found are the requests behind the state that the first list showed, in order. The last one made that
	// state.
	Found []Joined
	// Ambiguous counts requests with several possible writes.
	Ambiguous int
}

// None is the joins of an object without requests in the audit log.
var None = &Joins{}

// maxPairs bounds the work of one joining: the number of requests times the number of writes.
const maxPairs = 1 << 14

// Slot is one stored write, as the place for a request.
type Slot struct {
	// RV is the object's resourceVersion of the write.
	RV uint64
	// Version is the written version, nil for the removal; prev is the one before, nil for a creation.
	Version, prev *history.Version
	// seen is the time of the observation.
	seen time.Time
}
