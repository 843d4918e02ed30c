// SPDX-License-Identifier: Apache-2.0

// Package httpserve opens the server's listeners, authenticates their clients and limits their
// requests. TLS certificates are reloaded when their files change. Clients may be required to have a
// certificate or a token. Plaintext is limited to loopback, because some components cannot use TLS,
// unless an Endpoint allows it elsewhere.
//
// For HTTP it also limits requests in time and size, guards handlers against panics and DNS
// rebinding, and shuts down gracefully. The content of requests is left to handlers.
package httpserve
