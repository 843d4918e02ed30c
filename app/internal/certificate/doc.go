// SPDX-License-Identifier: Apache-2.0

// Package certificate makes the certificate with which the admission webhook is
// served, renews it while it is served, and has the API server know it. Servers that
// share the work agree on one: it is in a Secret, which is written by whoever comes
// first (optimistic concurrency).
//
// The certificate is its own authority: no key is anywhere that could sign another.
// One that is to come is known to the API server before it is served, and one that
// was is known until it ends, so that a renewal fails no call.
package certificate
