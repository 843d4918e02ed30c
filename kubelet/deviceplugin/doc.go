// SPDX-License-Identifier: Apache-2.0

// Package deviceplugin adds spans to the devices of Pods. A [Proxy] stands between a kubelet and its device
// plugins. It forwards each call unchanged, and makes a span of each allocation and of each preparation of a
// container.
//
// The requests name devices and no Pod. The kubelet's checkpoint has the Pod's UID for each device, and
// Lifeline joins the span to that Pod.
//
// A response may hold environment variables and paths. The spans have nothing of it.
package deviceplugin
