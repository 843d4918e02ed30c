// SPDX-License-Identifier: Apache-2.0

// Package node runs one real Kubernetes node on this machine: a kubelet with
// containerd and runc, as root.
//
// A node has a bridge of its own, whose address is the node's and whose other
// addresses are the Pods', a control group of its own that holds all of its
// containers, and a short directory below /run for sockets and mounts. All
// their names follow from the node's directory, so that Cleanup finds, also in
// another process and after a crash, exactly what belongs to that node: the
// containers with their shims, mounts, network namespaces and interfaces,
// control groups, and the files that kubelet and CNI plugins leave in places
// that cannot be configured. Nodes of several clusters run side by side.
//
// No packet filter rule is made and no forwarding is switched on: Pods, the
// machine and other Pods of the node reach each other, and nothing else; host
// ports and Services are not served.
//
// The API server, its certificates and the registry are the caller's; so is
// ending kubelet and containerd themselves, which run in the caller's process
// group.
package node
