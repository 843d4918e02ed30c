// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func newWebhook(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Exact contexts from admission: register the webhook with a cluster, answer its calls",
		Long: `With the admission webhook, a change has an exact context from the request that
made it, also where nobody instrumented anything. It is optional, and never in
the way: a write that it does not answer in a second goes on without it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWebhookServe(streams), newWebhookInstall(streams), newWebhookUninstall(streams),
		newWebhookPrint(streams))
	return cmd
}
