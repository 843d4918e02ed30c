// SPDX-License-Identifier: Apache-2.0

// Package config embeds the operator's manifests, for a program that installs them.
package config

import "embed"

// CRDs contains the custom resource definitions, one per file, in the folder crd.
//
//go:embed crd/*.yaml
var CRDs embed.FS

// Webhook is the MutatingWebhookConfiguration for a webhook in the cluster.
//
//go:embed webhook/manifests.yaml
var Webhook []byte
