// SPDX-License-Identifier: Apache-2.0

// Package lab starts a real Kubernetes on this machine, for tests and demos:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, built once
// from pinned Go modules. The nodes are simulated by KWOK, or run a real kubelet
// with containerd. Each cluster has its own ports, directories, certificate
// authority and audit log, so several clusters can run at once. The API is
// served on the loopback interface only.
//
// The lab does not import the product, and only the product's tests import the
// lab. Package audit reads the audit log. The lab runs on Linux.
package lab
