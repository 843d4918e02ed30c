// SPDX-License-Identifier: Apache-2.0

// Package request says what a request to the Kubernetes API means: whether it
// stores anything, of which kind its object is, and what the bodies of the
// request and of its answer tell of the objects in them. Those who see requests
// (the proxy on their way, the audit log afterwards) fill observations from it.
//
// Of a body only names, versions and owners are read, and the reason of a
// failure: spec, data and annotations of an object never leave it.
package request
