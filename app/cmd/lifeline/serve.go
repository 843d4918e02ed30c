// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/serve"
)

// serveFlags are the flags of lifeline serve. They override the configuration file.
type serveFlags struct {
	*common
	file, dataDir, api, telemetry, otlp string
}

func newServe(streams genericiooptions.IOStreams) *cobra.Command {
	f := &serveFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Trace every change in the cluster continuously",
		Long: `Trace every change in the cluster continuously: keep the traces on disk, serve
lifeline ls, trace, why and watch, and send spans to an OpenTelemetry backend if one
is configured. The server only reads from the cluster. Without a configuration file
all settings have their defaults (docs/configuration.md). SIGHUP reloads the file;
without one it ends the server. Ctrl-C or SIGTERM stores the state and ends the server; the
next start resumes from it.`,
		Example: `  lifeline serve
  lifeline serve --otlp http://localhost:4318
  lifeline serve --config lifeline.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.complete()
			if err != nil {
				return err
			}
			return untilSignal(cmd.Context(), o, serve.Run)
		},
	}
	flags := cmd.Flags()
	f.addConfig(cmd)
	flags.StringVar(&f.file, "config", "", "configuration file")
	flags.StringVar(&f.dataDir, "data-dir", "", "directory for the data on disk (dataDir)")
	flags.StringVar(&f.api, "api-address", "", "host:port that the API listens on (api.address)")
	flags.StringVar(&f.telemetry, "telemetry-address", "", "host:port of metrics and health (telemetry.address)")
	flags.StringVar(&f.otlp, "otlp", "", "where to send spans (otlp.endpoint)")
	return cmd
}

func (f *serveFlags) complete() (serve.Options, error) {
	o := serve.Options{
		File: f.file, Overrides: []config.Override{f.override}, Connect: f.connect, Version: buildVersion(),
		Log: f.streams.ErrOut,
	}
	var err error
	if o.Config, err = loaded(f.file, o.Overrides); err != nil {
		return o, err
	}
	c, err := f.connected() // report errors of the kubeconfig at once
	if err != nil {
		return o, err
	}
	o.Namespace = c.Kubeconfig.Namespace()
	return o, nil
}

// override applies the flags.
func (f *serveFlags) override(c *config.ServerConfiguration) {
	overrule(map[*string]*string{
		&f.dataDir: &c.DataDir, &f.api: &c.API.Address, &f.telemetry: &c.Telemetry.Address, &f.otlp: &c.OTLP.Endpoint,
	})
}

func (f *serveFlags) connect() (*rest.Config, error) {
	o, err := f.connected()
	if err != nil {
		return nil, err
	}
	return o.Kubeconfig.Current(), nil
}
