// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/run"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// serverFlags say which `lifeline serve` to ask. They take the place of
// kubectl's --server: the API server is that of the kubeconfig.
type serverFlags struct {
	url    string
	direct bool
}

// serverHelp is what commands say of which server they ask.
const serverHelp = `Which server: that of --server, else of LIFELINE_SERVER, else the one at
` + client.DefaultServer + ` if it answers and watches the cluster of your kubeconfig.`

// add adds the flags to a command that also has those of config, before these
// are added.
func (s *serverFlags) add(cmd *cobra.Command, c *common) {
	c.config.APIServer = nil
	cmd.Flags().StringVar(&s.url, "server", "", `ask the "lifeline serve" at this URL; "" asks none`)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("server",
		cobra.FixedCompletions([]string{client.DefaultServer}, cobra.ShellCompDirectiveNoFileComp)))
}

// addDirect adds the flag that asks no server.
func (s *serverFlags) addDirect(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.direct, "direct", false, "ask the cluster itself, whatever servers there are")
}

// choice is what the flags say.
func (s *serverFlags) choice(cmd *cobra.Command) run.Server {
	return run.Server{URL: s.url, Named: cmd.Flags().Changed("server"), Direct: s.direct}
}

// maybeConnected is connected, for what can do with a server alone: without a
// kubeconfig the options have none.
func (c *common) maybeConnected() (run.Options, error) {
	o, err := c.connected()
	if errors.Is(err, proxy.ErrNoConfig) {
		return o, nil
	}
	if err == nil {
		o.Mapper = func() (meta.RESTMapper, error) { return c.config.ToRESTMapper() }
	}
	return o, err
}

// namespace is the one to look at; empty for all, and where nothing names one.
func (c *common) namespace(o run.Options) string {
	switch {
	case c.everywhere:
		return ""
	case o.Kubeconfig != nil:
		return o.Kubeconfig.Namespace()
	}
	return *c.config.Namespace
}
