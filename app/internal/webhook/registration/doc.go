// SPDX-License-Identifier: Apache-2.0

// Package registration registers the admission webhook with a cluster: `lifeline webhook install`,
// `print` and `uninstall`. The configuration holds the requests to send, and the server's address.
//
// The configuration cannot block a write. A request without a response within a second proceeds,
// and irrelevant requests are not sent.
package registration
