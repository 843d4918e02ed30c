// SPDX-License-Identifier: Apache-2.0

// Package node runs one real Kubernetes node on this machine: a kubelet with
// containerd and runc, as root.
//
// Each node has its own bridge with the addresses of the node and its Pods. It has its own control group with all its
// containers, and a short directory below /run for sockets and mounts. Their names derive from the node's directory. So
// Cleanup finds everything of a node, also after a crash or in another process: containers with their shims, mounts,
// network namespaces, interfaces, control groups, and the files that kubelet and CNI plugins write to fixed places.
// Nodes of several clusters can run at once.
//
// A node makes no packet filter rules and enables no forwarding. Its Pods and
// the machine reach each other, but no other network. There are no host ports
// and no Services.
//
// The caller provides the API server, its certificates and the registry. It also
// ends kubelet and containerd, which run in its process group.
package node
