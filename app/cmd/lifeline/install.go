// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/install"
)

// installFlags are the flags of lifeline install.
type installFlags struct {
	*common
	install        install.Command
	dryRun, format string
}

const installedYAML = "yaml"

func newInstall(streams genericiooptions.IOStreams) *cobra.Command {
	f := &installFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the server in a cluster",
		Long: `Install the server in a cluster, or upgrade it, without helm. The objects are those of
the Helm chart. They are applied on the API server, with field manager lifeline-install.
Fields that others have changed since stay, and are named. With -o yaml, the manifests
are printed, and no cluster is needed.`,
		Example: `  lifeline install
  lifeline install -o yaml | kubectl apply --server-side -f -
  lifeline install --replicas 2 --storage 50Gi --dry-run`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
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
	flags.Lookup("namespace").Usage = "namespace of the server; lifeline if it is not given"
	flags.StringVar(&f.install.Image, "image", "", "image of the server; by default the published one of this version")
	flags.IntVar(&f.install.Replicas, "replicas", 1, "servers: 1, or 2 of which one stands by")
	flags.BoolVar(&f.install.Webhook, "webhook", false, "answer the admission webhook; then: lifeline webhook install")
	flags.StringVar(&f.install.Storage, "storage", "",
		"size of the volume claim of each server, or none for an emptyDir; by default that of an installed server, or "+
			install.DefaultStorage)
	flags.StringVar(&f.install.StorageClass, "storage-class", "",
		"class of the volume claims; by default the cluster's")
	flags.StringVarP(&f.format, "output", "o", "", "yaml: print the manifests, and apply nothing")
	flags.StringVar(&f.dryRun, "dry-run", string(dryRunNone),
		"server: have the API server check everything, and store nothing; none")
	flags.Lookup("dry-run").NoOptDefVal = string(dryRunServer)
	completeWords(cmd, []string{installedYAML}, "output")
	completeWords(cmd, []string{string(dryRunNone), string(dryRunServer)}, "dry-run")
	return cmd
}

func (f *installFlags) complete() (*install.Command, error) {
	c := f.install
	c.Out, c.Namespace = f.streams.Out, cmp.Or(f.config.Context.Namespace, "lifeline")
	if c.Image == "" {
		var err error
		if c.Image, err = install.Image(buildVersion()); err != nil {
			return nil, err
		}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch f.dryRun {
	case string(dryRunServer), "true":
		c.DryRun = true
	case string(dryRunNone), "false":
	default:
		return nil, fmt.Errorf("--dry-run %q: it must be server or none; -o yaml prints the manifests", f.dryRun)
	}
	switch {
	case f.format == installedYAML:
		return &c, nil
	case f.format != "":
		return nil, cli.CheckOutput(f.format, []string{installedYAML})
	}
	o, err := f.connected()
	if err != nil {
		return nil, err
	}
	c.REST = o.Kubeconfig.Current()
	if f.config.CurrentContext != "" {
		c.Flags += " --context " + f.config.CurrentContext
	}
	return &c, nil
}

// newReady is for the Pod of `helm test`: the image has no other program.
func newReady(streams genericiooptions.IOStreams) *cobra.Command {
	c := &install.Ready{Within: time.Minute, Every: time.Second, Out: streams.Out}
	return &cobra.Command{
		Use:    "ready URL",
		Short:  "Wait until a server is ready",
		Hidden: true,
		Args:   one("the URL of its /readyz"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.URL = args[0]
			return execute(cmd.Context(), c)
		},
	}
}
