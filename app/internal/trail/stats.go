// SPDX-License-Identifier: Apache-2.0

package trail

// Stats counts the writes of the audit log by their results. It is not saved.
type Stats struct {
	// Joined counts the writes that were joined to one stored write before they were forgotten.
	// Ambiguous counts the writes with several possible stored writes, or in competition for one.
	// Unmatched counts the writes without an observed stored write.
	// Found counts the writes to objects that were never observed: each has a trace.
	Joined, Ambiguous, Unmatched, Found uint64
	// Refused counts the writes that the API server refused. Repeated counts the refused writes
	// that only add to a count. Passed counts the refused writes without a trace.
	Refused, Repeated, Passed uint64
	// Contradicted counts audit IDs with two different requests.
	Contradicted uint64
	// Late counts the writes that arrived after the handout of their trace and are not part of any
	// trace. Dropped counts the writes that were dropped for lack of room.
	Late, Dropped uint64
}

// Stats returns the counts since the Trail was created or restored.
func (tr *Trail) Stats() Stats { return tr.tally }

// Count adds to the counts.
func (tr *Trail) Count(add func(*Stats)) { add(&tr.tally) }
