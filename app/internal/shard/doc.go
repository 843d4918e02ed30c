// SPDX-License-Identifier: Apache-2.0

// Package shard divides a cluster that one process cannot hold among several:
// who observes which namespaces, and who stores and sends which part of a
// trace.
//
// # What is owned
//
// What has an owner is a part of a trace: its spans on the objects of one
// namespace. Objects of cluster scope are in namespace "", which is owned like
// any other, but everybody observes them. What another component told is about no
// object, and goes with the span that it was joined to. Since IDs are derived
// from what was written, the parts that several members send join to one trace.
//
// # Epochs
//
// Each change of who takes part begins an epoch, at a resourceVersion. A part
// belongs to the epoch in which it began: that of its first write in the
// namespace. Inside the epoch rendezvous hashing names the member. So ownership
// is a function of two things that every observer of the namespace knows alike:
// namespaces are enumerated nowhere, and a part does not change hands while it
// is open.
//
// # Handing over
//
// Who takes part, and since when, stands in a Table that all share. Plan alone
// changes it, one step at a time:
//
//  1. A new epoch is pending: its members observe what will be theirs beside
//     those who own it.
//  2. When all of them do, everybody holds back: what finishes and would move
//     is not handed out (View.Undecided).
//  3. When everybody does, the epoch begins just after the highest
//     resourceVersion that anybody had observed. Before it, nothing was handed
//     out that belongs to the new owners; after it, these saw everything.
//
// An old epoch is dropped when nobody has anything left to do of it.
//
// A member that is gone without having finished loses all that it owns, in
// every epoch, at once: rendezvous among the others says to whom. These observe
// from the resourceVersion below which it had finished everything; what it did
// since may come twice.
//
// # Coordination
//
// There is no coordinator: whoever sees that Plan has something to do writes the
// new Table, and of two that do the API server refuses the second. Members that
// cannot reach the API server stop handing out before others may believe them
// gone.
//
// # Clocks and resourceVersions
//
// No clock is compared with another: a member is gone when its Lease did not
// change for as long as it says, by the clock of who looks. ResourceVersions are
// compared as integers across kinds, which holds for everything that is in the
// same storage. For objects that another API server keeps elsewhere (aggregated
// APIs, Events with an etcd of their own) each number still has exactly one owner, but
// a part that is open while an epoch begins may come twice or not at all.
package shard
