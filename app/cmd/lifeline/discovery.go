// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/discovery"
)

// discoveryFlags are the flags of lifeline discovery.
type discoveryFlags struct {
	*common
	options discovery.Options
}

func newDiscovery(streams genericiooptions.IOStreams) *cobra.Command {
	f := &discoveryFlags{common: newCommon(streams)}
	o := &f.options
	cmd := &cobra.Command{
		Use:   "discovery",
		Short: "Answer the API server for kubectl get changes, in front of a server",
		Long: `Answer the API server for the API group lifeline.dev, in front of a lifeline serve with
api.aggregation. Discovery and OpenAPI are answered without the server, so that a
server that is away delays no client and no deletion of a namespace. All else goes on
to the server, with the user that the API server has authenticated.

It makes and renews the certificate of both sides in a Secret, and writes it into the
APIService. The Helm chart and lifeline install run it.`,
		Example: `  lifeline discovery -n lifeline
  lifeline discovery --aggregation-server https://lifeline-api.lifeline.svc`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			context.AfterFunc(ctx, stop)
			if err := discovery.Run(ctx, *o); err != nil {
				return &exit{code: cli.CodeError, err: err}
			}
			return nil
		},
	}
	f.addConfig(cmd)
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "namespace of the Secret; lifeline if it is not given"
	flags.StringVar(&o.Server, "aggregation-server", "",
		"URL of the server's api.aggregation; https and --server-name by default")
	flags.StringVar(&o.ServerName, "server-name", "",
		"name in the server's certificate; lifeline-api.NAMESPACE.svc by default")
	flags.StringVar(&o.Secret, "secret", "lifeline-api", "Secret with the certificate")
	flags.StringSliceVar(&o.Names, "name", nil,
		"name of this Service in the certificate; lifeline-discovery.NAMESPACE.svc by default")
	flags.StringVar(&o.Address, "address", ":8443", "host:port to listen on for the API server")
	flags.StringVar(&o.Telemetry, "telemetry-address", ":7071", "host:port of metrics and health")
	return cmd
}

func (f *discoveryFlags) complete() error {
	c, err := f.connected()
	if err != nil {
		return err
	}
	o := &f.options
	o.Config = rest.CopyConfig(c.Kubeconfig.Current())
	o.Config.UserAgent = "lifeline-discovery/" + buildVersion()
	o.Namespace = cmp.Or(f.config.Context.Namespace, podNamespace(), c.Kubeconfig.Namespace())
	o.ServerName = cmp.Or(o.ServerName, "lifeline-api."+o.Namespace+".svc")
	o.Server = cmp.Or(o.Server, "https://"+o.ServerName)
	if len(o.Names) == 0 {
		o.Names = []string{"lifeline-discovery." + o.Namespace + ".svc"}
	}
	o.Names = append(o.Names, o.ServerName)
	o.Log = slog.New(slog.NewJSONHandler(f.streams.ErrOut, nil))
	return nil
}

// podNamespace returns the namespace of this Pod; empty outside of one.
func podNamespace() string {
	data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
