// SPDX-License-Identifier: Apache-2.0

// Package process supervises the child processes of one lab cluster.
//
// A Group starts them, each with its own log file and process group. It records
// their PIDs and start times in a file, so that another process can end exactly
// these later, and not others with the same PID. Unless the group is detached,
// the kernel kills its processes when the caller dies.
//
// The package does not depend on Kubernetes: the caller decides what to run and
// when it is ready. It works on Linux only.
package process
