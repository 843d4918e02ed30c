// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func newWebhook(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Manage the admission webhook, which gives changes an exact trace context",
		Long: `With the admission webhook, each change has the trace context of its request, also
from clients without instrumentation. The webhook is optional and blocks no write:
without a response within a second the API server continues without it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWebhookServe(streams), newWebhookInstall(streams), newWebhookUninstall(streams),
		newWebhookPrint(streams))
	return cmd
}
