// SPDX-License-Identifier: Apache-2.0

// Package process supervises the child processes of one lab cluster.
//
// A Group starts them, each with a log file and a process group of its own,
// and records them by pid and start time in a file, so that another process
// can later end exactly these and never a stranger that was given the same pid.
// Unless the group is detached, the kernel kills its processes when the caller
// dies, however it dies.
//
// The package knows nothing of Kubernetes: what to run, and when it is ready,
// is the caller's to say. It works on Linux only.
package process
