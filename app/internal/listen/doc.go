// SPDX-License-Identifier: Apache-2.0

// Package listen opens the server's listeners, and authenticates their clients. TLS certificates
// are reloaded when their files change. Clients may be required to have a certificate or a token.
// Plaintext is limited to loopback, because some components cannot use TLS, unless an Endpoint
// allows it elsewhere. For HTTP, the package also bounds requests in time and size, and shuts down
// gracefully. The content of requests is left to handlers.
package listen
