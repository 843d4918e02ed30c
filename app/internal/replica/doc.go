// SPDX-License-Identifier: Apache-2.0

// Package replica runs two processes as one. Both observe everything and have separate stores, but
// only the leader sends spans.
//
// # Leases
//
// A Lease with the name of the group holds the leader, as in Kubernetes' own components. In a
// second one, <name>-delivered, the leader publishes the time up to which everything that it queued
// was delivered. A standby then forgets the entries that it keeps for a takeover. Both objects
// belong to Lifeline.
//
// # Guarantees
//
// While the API server answers, one process leads. A process that cannot renew its Lease stops
// before another may acquire it; both continue to observe. The next leader sends the rest. Every
// span arrives at least once, and repeated spans have the same IDs.
//
// # Clocks
//
// Processes do not compare clocks to elect a leader. A Lease has expired when it did not change for
// its duration by the observer's clock. Only the rates of clocks matter, and the time between the
// renewal deadline and the duration of a Lease allows for these. Times of delivery are compared
// across clocks; Margin covers their differences.
package replica
