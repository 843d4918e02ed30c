// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/kube-lifeline/lifeline/examples/head-operator/internal/install"
)

// installOptions are the flags of "head-operator install".
type installOptions struct {
	webhookURL, caFile, generateCert string
}

func (o *installOptions) register(flags *flag.FlagSet) {
	config.RegisterFlags(flags)
	flags.StringVar(&o.webhookURL, "webhook-url", "",
		"URL of the webhook for the API server, https://HOST:PORT; empty means no webhook")
	flags.StringVar(&o.caFile, "ca-file", "", "PEM file of the certificate authority for the webhook's certificate")
	flags.StringVar(&o.generateCert, "generate-cert", "",
		"output directory for a self-signed certificate of the webhook, instead of --ca-file")
}

func (o *installOptions) validate() error {
	switch {
	case o.caFile != "" && o.generateCert != "":
		return errors.New("--ca-file and --generate-cert cannot be used together")
	case o.webhookURL == "" && (o.caFile != "" || o.generateCert != ""):
		return errors.New("--webhook-url is required with --ca-file or --generate-cert")
	case o.webhookURL != "" && o.caFile == "" && o.generateCert == "":
		return errors.New("--webhook-url requires --ca-file or --generate-cert")
	}
	return nil
}

// authority returns the PEM for the API server's verification of the webhook.
func (o *installOptions) authority() ([]byte, error) {
	if o.generateCert != "" {
		return install.GenerateCert(o.webhookURL, o.generateCert)
	}
	ca, err := os.ReadFile(o.caFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read --ca-file: %w", err)
	}
	return ca, nil
}

// installCommand installs the operator's kinds, and the configuration of a webhook outside the
// cluster.
func installCommand(ctx context.Context, args []string, talk io.Writer) error {
	var o installOptions
	flags := flag.NewFlagSet("head-operator install", flag.ContinueOnError)
	o.register(flags)
	if err := parse(flags, args, talk); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot load the cluster configuration: %w", err)
	}
	scheme, err := install.Scheme()
	if err != nil {
		return err
	}
	cluster, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("cannot create a client for the cluster: %w", err)
	}

	if err := install.CRDs(ctx, cluster); err != nil {
		return err
	}
	if o.webhookURL == "" {
		return nil
	}
	ca, err := o.authority()
	if err != nil {
		return err
	}
	return install.Webhook(ctx, cluster, o.webhookURL, ca)
}
