// SPDX-License-Identifier: Apache-2.0

// Package docs has the addresses of the documentation. A user of the binary has no copy of it.
package docs

// base is the address of the folders and files of the project.
const base = "https://github.com/kube-lifeline/lifeline/blob/main/"

// The pages that messages name.
const (
	Health    = base + "docs/health.md"
	Reasons   = base + "docs/reasons.md"
	Devices   = base + "docs/guides/devices.md"
	Install   = base + "docs/guides/install.md"
	Questions = base + "docs/guides/questions.md"
	Scheduler = base + "docs/guides/scheduler.md"
	Volumes   = base + "docs/guides/volumes.md"
	Webhook   = base + "docs/guides/webhook.md"
)
