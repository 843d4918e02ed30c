// SPDX-License-Identifier: Apache-2.0

// Package request interprets requests to the Kubernetes API: whether they store anything, the kind
// of their object, and the objects in the bodies of request and response. The proxy and the audit
// log fill observations from it.
//
// From a body only names, versions, owners and the reason of a failure are read. An object's spec,
// data and annotations are never returned.
package request
