// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out what a cluster and a server give to traces, what is
// missing in a trace because of it, and what to add: `lifeline doctor`.
//
// It gathers Facts (gather*.go), judges them (Examine: pure, one file an idea),
// and prints the Report. What could not be found out is said to be unknown, with
// the reason, and never guessed. Nothing of a cluster is changed, and nothing is
// read of it but versions, labels of nodes, the flags of control planes that are
// Pods, the tracing that kubelets were told to do, how the admission webhook is
// registered, and rights.
package doctor
