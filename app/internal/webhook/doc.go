// SPDX-License-Identifier: Apache-2.0

// Package webhook is the registration of the admission webhook with a cluster: which
// requests its API server asks about, whom it asks, and how that is put there and
// taken away again: `lifeline webhook install`, `print`, `uninstall`.
//
// The configuration is made so that it can cost a cluster no write: what it does not
// answer in a second goes on without it, and what need not be asked about is not.
package webhook
