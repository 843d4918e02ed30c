// SPDX-License-Identifier: Apache-2.0

// Package install puts a server into a cluster, for users without helm. The manifests are those of the Helm
// chart: make manifests renders them into this package.
package install
