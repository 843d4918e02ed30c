// SPDX-License-Identifier: Apache-2.0

// Package rbac writes manifests with the minimal rights of `lifeline serve` under a configuration:
// reading the watched resources, and the Leases that several servers share. They never include
// Secrets, except that of a managed certificate, or wildcards.
package rbac
