// SPDX-License-Identifier: Apache-2.0

// Package rbac writes the manifests of the rights that `lifeline serve` needs
// under a configuration, and no others: to read what it watches, and the Leases
// that several servers share. Never Secrets, and no wildcard.
package rbac
