// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/rbac"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// rbacFlags are the flags of lifeline rbac.
type rbacFlags struct {
	*common
	file, name string
	offline    bool
}

func newRBAC(streams genericiooptions.IOStreams) *cobra.Command {
	f := &rbacFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Print the rights that lifeline serve needs, as manifests",
		Long: `Print the rights that lifeline serve needs for a configuration, as manifests: to
read the watched kinds, to share Leases if there are several servers, and to keep the
certificate of the webhook if it is managed. The kinds come from the cluster; with
--offline, they are those of Kubernetes itself.`,
		Example: `  kubectl create namespace lifeline   # unless it exists
  lifeline rbac -n lifeline | kubectl apply -f -
  lifeline rbac --config lifeline.yaml --offline > rbac.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.complete()
			if err != nil {
				return err
			}
			return execute(cmd.Context(), c)
		},
	}
	f.addConfig(cmd)
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "namespace of the server's ServiceAccount; lifeline if it is not given"
	flags.StringVar(&f.file, "config", "", "configuration file of the server")
	flags.StringVar(&f.name, "name", "lifeline",
		"name of the ServiceAccount and the roles, unique for each installation in a cluster")
	flags.BoolVar(&f.offline, "offline", false, "use the kinds of Kubernetes itself, without a cluster")
	return cmd
}

func (f *rbacFlags) complete() (*rbac.Command, error) {
	c := &rbac.Command{Out: f.streams.Out, Log: f.streams.ErrOut}
	c.Name, c.Namespace = f.name, cmp.Or(f.config.Context.Namespace, "lifeline")
	c.Config = config.Default()
	var err error
	if f.file != "" {
		if c.Config, err = config.Load(f.file); err != nil {
			return nil, err
		}
	}
	if f.offline {
		return c, nil
	}
	o, err := f.connected()
	switch {
	case errors.Is(err, proxy.ErrNoConfig):
		fmt.Fprintln(f.streams.ErrOut, "lifeline: there is no kubeconfig: taking the kinds of Kubernetes itself")
		return c, nil
	case err != nil:
		return nil, err
	}
	c.REST = o.Kubeconfig.Current()
	return c, nil
}
