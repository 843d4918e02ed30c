// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/serve"
	"github.com/kube-lifeline/lifeline/app/internal/ui"
)

func newUI(streams genericiooptions.IOStreams) *cobra.Command {
	c := newCommon(streams)
	var s serverFlags
	var u ui.UI
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Open the page in a browser; start a server if there is none",
		Long: `Open the page of a server in a browser, and print its URL.

` + serverHelp + `
For the one in the cluster, the page is at a port of this machine until Ctrl-C, and its
requests go through the API server.

If the cluster has no such API, the server is a Pod in the namespace of -n or in ` + ui.Namespace + `.
The command then forwards a local port to its Pod, as kubectl port-forward does,
until Ctrl-C.

If there is none there, either, the command starts one in its own process. It watches the
namespace of your kubeconfig, or all with -A, with your rights, and only reads. Its data are those
of "lifeline serve". Ctrl-C stores the state and ends it; the next start resumes from it.

Without a browser or a terminal the URL is printed only.`,
		Example: `  lifeline ui
  lifeline ui -A
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
			u.Namespaces = []string{ui.Namespace}
			if n := c.config.Context.Namespace; n != "" && n != ui.Namespace {
				u.Namespaces = []string{n, ui.Namespace}
			}
			u.Watched, u.Serve = c.namespace(o), own(c, o)
			if err := u.Validate(); err != nil {
				return err
			}
			return execute(cmd.Context(), &u)
		},
	}
	s.add(cmd, c)
	c.addEverywhere(cmd.Flags())
	c.addConfig(cmd)
	s.completeNamespaces(cmd, c)
	cmd.Flags().BoolVar(&u.NoBrowser, "no-browser", false, "print the URL only")
	cmd.Flags().Uint16Var(&u.RemotePort, "remote-port", ui.DefaultPort,
		"port of the API in the Pod, that of its api.address")
	cmd.Flags().Uint16Var(&u.Port, "port", 0,
		"local port; 0 means a free one, for a server in this process 7070 if it is free")
	cmd.Flags().BoolVar(&u.Here, "here", false, "start a server in this process, even if one runs in the cluster")
	cmd.Flags().BoolVarP(&u.Verbose, "verbose", "v", false, "print the log of a server in this process")
	completeWords(cmd, nil, "port", "remote-port")
	return cmd
}

// own returns a function that runs a server in this process, with the default configuration.
func own(c *common, options cli.Options) func(context.Context, ui.Own) error {
	return func(ctx context.Context, o ui.Own) error {
		f := &serveFlags{common: c}
		conf, err := config.Parse(nil, func(c *config.ServerConfiguration) {
			c.API.Address, c.Telemetry.Address = o.Address, "127.0.0.1:0"
			if o.Namespace != "" {
				c.Watch.Namespaces = []string{o.Namespace}
			}
			if !o.Verbose {
				c.Log.Level, c.Log.Format = config.LevelError, config.FormatJSON
			}
		})
		if err != nil {
			return err
		}
		err = serve.Run(ctx, serve.Options{
			Config: conf, Connect: f.connect, Namespace: options.Kubeconfig.Namespace(), Version: buildVersion(),
			Log: o.Log, FreePort: o.FreePort, Opened: o.Opened,
		})
		switch {
		case errors.Is(err, serve.ErrBlind) && o.Namespace == "":
			return errors.New("you may watch nothing in all namespaces at once: choose one with -n, without -A")
		case errors.Is(err, serve.ErrBlind):
			return fmt.Errorf("you may watch nothing in namespace %s: choose another one with -n",
				cli.Shown(o.Namespace))
		}
		return err
	}
}
