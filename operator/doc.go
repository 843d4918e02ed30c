// SPDX-License-Identifier: Apache-2.0

// Package operator makes an operator part of every trace: its reconciles, its
// waits in the queue, its writes, and the trace context on every child that it
// writes.
//
// It decorates what controller-runtime gives: the manager, the client, a
// reconciler, an admission handler. Setting up OpenTelemetry is left to package
// tracing or to the user; what a context on an object is, to package lifeline.
package operator
