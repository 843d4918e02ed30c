// SPDX-License-Identifier: Apache-2.0

// Package config holds the operator's manifests, for a program that installs
// them. What is done with them is left to that program.
package config

import "embed"

// CRDs holds the custom resource definitions, one a file, in the folder crd.
//
//go:embed crd/*.yaml
var CRDs embed.FS

// Webhook is the MutatingWebhookConfiguration, for a webhook that is served in
// the cluster.
//
//go:embed webhook/manifests.yaml
var Webhook []byte
