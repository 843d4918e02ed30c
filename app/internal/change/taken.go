// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"
)

// Taken holds the remembered facts about a handed-out trace.
type Taken struct {
	// At is the time of the handover. Latest is the Latest of the lineage at that time.
	At, Latest time.Time
	// Outside means that the trace began with a context from outside.
	Outside bool
	// Originations are the resourceVersions, in order, of the writes in the trace by their
	// contexts: on their objects, or in their requests. No other write with a context of the trace
	// is part of it.
	Originations []uint64
}

// Has reports whether the write with the resourceVersion rv is one of the Originations.
func (t *Taken) Has(rv uint64) bool {
	_, found := slices.BinarySearch(t.Originations, rv)
	return found
}
