// SPDX-License-Identifier: Apache-2.0

// Package lab starts a real Kubernetes on this machine, for tests and demos:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, built once
// from pinned Go modules, with nodes played by KWOK or by a real kubelet with
// containerd. Each cluster has ports, directories, a certificate authority and
// an audit log of its own, so that several run side by side; the API is served
// on the loopback interface only.
//
// Nothing of the product is known here, and no part of the product but its
// tests imports this. Reading the audit log is package audit's task. The lab
// runs on Linux.
package lab
