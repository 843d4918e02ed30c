// SPDX-License-Identifier: Apache-2.0

package change

// fate is the result of the classification of a stored write.
type fate uint8

// The fates of writes.
const (
	// Noise is the fate of a write in no trace.
	Noise fate = iota
	// Traced is the fate of a change, and of a write caused by one.
	Traced
	// Step is the fate of a step of a reconciliation: a status, bookkeeping, or metadata by a
	// controller.
	Step
	// Repeated is the fate of a write that is only counted, in a series.
	Repeated
)
