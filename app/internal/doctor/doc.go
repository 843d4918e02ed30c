// SPDX-License-Identifier: Apache-2.0

// Package doctor is `lifeline doctor`. It determines the trace sources of a cluster and a server,
// the gaps that missing ones leave in traces, and the lines to add.
//
// It gathers Facts (gather*.go), evaluates them (Examine: pure, one file per idea), and prints the
// Report. Facts that could not be gathered are reported as unknown with the reason, never guessed.
// The cluster is not changed. The package reads versions, labels of nodes, rights, the kubelets'
// tracing settings and the registration of the admission webhook. It reads the flags of control
// planes that run as Pods, and nothing else.
package doctor
