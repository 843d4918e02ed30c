// SPDX-License-Identifier: Apache-2.0

// Package rbac writes manifests with the minimal rights of `lifeline serve` under a configuration:
// the watched resources, the Leases of several servers, and the Secret and the webhook registration
// of a managed certificate. Other Secrets are included only with watch.secretMetadata, wildcards
// never.
package rbac
