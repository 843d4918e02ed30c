// SPDX-License-Identifier: Apache-2.0

// Package listen opens the addresses on which others send what they saw, and says
// who may: by TLS, with certificates that are read again when they are renewed,
// from everybody or from clients with a certificate of their own. Plaintext stays
// on loopback, where some components can do nothing else, unless it is asked for
// elsewhere. Where HTTP is spoken it also bounds what a client may hold up, and ends in
// good order; what is said is for others.
package listen
