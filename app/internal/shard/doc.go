// SPDX-License-Identifier: Apache-2.0

// Package shard divides a cluster that is too large for one process among several members: who
// observes which namespaces, and who stores and sends which part of a trace.
//
// # Ownership
//
// A part of a trace has an owner. A part is the trace's spans on the objects of one namespace.
// Objects of cluster scope are in namespace "". It is owned like any other, but all members observe
// it. A span of another component has no object and goes with the span above it. IDs are derived
// from the writes, so the parts of several members join to one trace.
//
// # Epochs
//
// Each change of the members begins an epoch at a resourceVersion. A part belongs to the epoch of
// its first write in the namespace. Inside the epoch, rendezvous hashing selects the member. So
// ownership is a function of two facts that are equal for all observers of the namespace. Namespaces
// are listed nowhere, and an open part never changes its owner.
//
// # Handing over
//
// All members share one Table with the members and epochs. Only Plan changes it, one step at a
// time:
//
//  1. A new epoch is pending. Its members observe their future namespaces beside the present
//     owners.
//  2. When all of them observe, all members hold back the finished parts that would move
//     (View.Undecided).
//  3. When all members hold back, the epoch begins just after the highest observed
//     resourceVersion of any member. Before it, no part of the new owners was handed out. After
//     it, they have observed everything.
//
// An old epoch is dropped when no member has open work in it.
//
// A member that is gone with open work loses all that it owns, in every epoch, at once. Rendezvous
// hashing among the others selects the heirs. They observe from the resourceVersion below which all
// its work was done. Its later work may be repeated.
//
// # Coordination
//
// Every member may coordinate: it writes the new Table if Plan requires a change. Of two such writes
// the API server refuses the second. A member that cannot reach the API server stops handing
// out before the others may consider it gone.
//
// # Clocks and resourceVersions
//
// No two clocks are compared. A member is gone when its Lease has not changed for its duration, by
// the observer's clock. ResourceVersions are compared as integers across kinds, which is valid
// inside one storage. Objects may have another storage (aggregated APIs, Events with an etcd of
// their own). Their parts still have exactly one owner, but a part that is open while an epoch
// begins may come twice or not at all.
package shard
