// SPDX-License-Identifier: Apache-2.0

// Package addon holds the manifests of plays with add-on controllers, and a provider of Cluster API.
package addon
