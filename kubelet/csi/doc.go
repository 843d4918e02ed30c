// SPDX-License-Identifier: Apache-2.0

// Package csi adds spans to the volumes of Pods. A [Proxy] stands between a kubelet and a driver of
// the Container Storage Interface (CSI). It forwards each call unchanged, and makes a span of each
// call that mounts or unmounts a volume.
//
// A kubelet sends no trace context to a driver. The paths in its requests name the Pod by UID, and
// Lifeline joins the span to that Pod.
//
// A request may hold secrets. Of a request, the spans have the volume's ID, the volume's name, and
// the Pod's UID, name and namespace.
package csi
