// SPDX-License-Identifier: Apache-2.0

// Package certificate creates the certificate of a server that the API server calls, renews it while it is served,
// and registers it with the API server: that of the admission webhook, and that of the aggregated API. Servers that
// share the work agree on one certificate. It is in a Secret that the first of them writes (optimistic concurrency).
//
// The certificate is self-signed: no key exists that could sign another. The API server trusts the
// next certificate before it is served, and the last one until it ends. A renewal therefore fails
// no call.
package certificate
