// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/serve"
)

// webhookServeFlags are the flags of lifeline webhook serve. They override the configuration file.
type webhookServeFlags struct {
	streams                           genericiooptions.IOStreams
	file                              string
	address, cert, key, ca, telemetry string
}

func newWebhookServe(streams genericiooptions.IOStreams) *cobra.Command {
	f := &webhookServeFlags{streams: streams}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the admission webhook only",
		Long: `Serve the admission webhook only, without a store and without a connection to the
cluster. Any number of replicas may run; they share nothing. lifeline serve also
serves the webhook, and gives more contexts, because it knows the open
reconciliations of owners.

Use flags, or a configuration file of lifeline serve, with its parts webhook,
telemetry, log and sampling. Changed certificate files are reloaded. SIGHUP reloads
the configuration file; without one it ends the server. Ctrl-C or SIGTERM finishes
running requests and ends the server.`,
		Example: `  lifeline webhook serve --address :9443 --tls-cert-file tls.crt --tls-key-file tls.key
  lifeline webhook serve --config lifeline.yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.complete()
			if err != nil {
				return err
			}
			return untilSignal(cmd.Context(), o, serve.RunWebhook)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "configuration file")
	flags.StringVar(&f.address, "address", "", "host:port to listen on for the API server (webhook.endpoint.address)")
	flags.StringVar(&f.cert, "tls-cert-file", "", "file with the serving certificate (webhook.endpoint.tls.certFile)")
	flags.StringVar(&f.key, "tls-key-file", "", "file with the private key (webhook.endpoint.tls.keyFile)")
	flags.StringVar(&f.ca, "tls-client-ca-file", "",
		"file with the certificate authorities for client certificates of API servers "+
			"(webhook.endpoint.tls.clientCAFile)")
	flags.StringVar(&f.telemetry, "telemetry-address", "", "host:port of metrics and health (telemetry.address)")
	return cmd
}

func (f *webhookServeFlags) complete() (serve.Options, error) {
	o := serve.Options{
		File: f.file, Overrides: []config.Override{f.override, serve.WebhookOnly}, Version: buildVersion(),
		Log: f.streams.ErrOut,
	}
	var err error
	o.Config, err = loaded(f.file, o.Overrides)
	return o, err
}

// override applies the flags.
func (f *webhookServeFlags) override(c *config.ServerConfiguration) {
	e := &c.Webhook.Endpoint
	overrule(map[*string]*string{
		&f.address: &e.Address, &f.cert: &e.TLS.CertFile, &f.key: &e.TLS.KeyFile, &f.ca: &e.TLS.ClientCAFile,
		&f.telemetry: &c.Telemetry.Address,
	})
}

// loaded returns the configuration of a file, or the default.
func loaded(file string, overrides []config.Override) (*config.ServerConfiguration, error) {
	if file != "" {
		return config.Load(file, overrides...)
	}
	return config.Parse(nil, overrides...)
}

// overrule sets the fields of non-empty flags.
func overrule(flags map[*string]*string) {
	for flag, field := range flags {
		if *flag != "" {
			*field = *flag
		}
	}
}

// untilSignal serves until the first signal; the second ends the process at once. SIGHUP reloads the
// configuration file. Without one it ends the server as SIGTERM does, for example when a terminal closes.
func untilSignal(ctx context.Context, o serve.Options, serves func(context.Context, serve.Options) error) error {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if o.File == "" {
		ends = append(ends, syscall.SIGHUP)
	} else {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		o.Reload = hangups
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	if err := serves(ctx, o); err != nil {
		return &exit{code: cli.CodeError, err: err}
	}
	return nil
}
