// SPDX-License-Identifier: Apache-2.0

// Package replica lets two processes stand for one: both observe everything and
// each has a store of its own, but only the leader sends spans.
//
// # Leases
//
// A Lease with the name of the group says who leads, as in Kubernetes' own
// components. In a second one, <name>-delivered, the leader says up to when
// everything that it queued was delivered, so that a standby forgets what it
// keeps for a takeover. Both objects are Lifeline's own.
//
// # What is promised
//
// While the API server answers, one process leads. One that cannot renew its
// Lease stops before another may have it; both go on observing. Who takes over
// sends what is left: everything arrives at least once, and what arrives twice
// has the same IDs.
//
// # Clocks
//
// No process compares its clock with another's to decide who leads: a Lease has
// expired when it did not change for its duration by the clock of who looks at
// it. Only the rates of clocks count, and between the deadline for renewal and
// the duration of a Lease there is room for these. Times of delivery are
// compared across clocks; Margin covers what these differ by.
package replica
