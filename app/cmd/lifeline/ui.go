// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ui"
)

func newUI(streams genericiooptions.IOStreams) *cobra.Command {
	c := newCommon(streams)
	var s serverFlags
	var u ui.UI
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Open the page of a server in a browser",
		Long: `Open the page of a server in a browser, and print its URL.

` + serverHelp + `
If there is none, the server is one in the cluster, in namespace ` + ui.Namespace + ` or that of -n.
The command then forwards a local port to its Pod, as kubectl port-forward does,
until Ctrl-C.

Without a browser or a terminal the URL is printed only.`,
		Example: `  lifeline ui
  lifeline ui -n observability --no-browser --port 7070
  lifeline ui --server https://lifeline.example:7070`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := c.maybeConnected()
			if err != nil {
				return err
			}
			u.Options, u.Server = o, s.choice(cmd)
			u.Namespace = cmp.Or(c.config.Context.Namespace, ui.Namespace)
			if err := u.Validate(); err != nil {
				return err
			}
			return execute(cmd.Context(), &u)
		},
	}
	s.add(cmd, c)
	c.addConfig(cmd)
	s.completeNamespaces(cmd, c)
	cmd.Flags().BoolVar(&u.NoBrowser, "no-browser", false, "print the URL only")
	cmd.Flags().Uint16Var(&u.RemotePort, "remote-port", ui.DefaultPort,
		"port of the API in the Pod, that of its api.address")
	cmd.Flags().Uint16Var(&u.Port, "port", 0, "local port for a server in the cluster; 0 means a free one")
	completeWords(cmd, nil, "port", "remote-port")
	return cmd
}
