// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// serverFlags select the `lifeline serve` to query. They replace kubectl's --server: the API server
// is that of the kubeconfig.
type serverFlags struct {
	url    string
	access client.Access
	direct bool
}

// serverHelp describes the choice of the server in the commands' help.
const serverHelp = `The server is that of --server, else of LIFELINE_SERVER, else the one at
` + client.DefaultServer + ` if it answers and watches the cluster of your kubeconfig,
else the one in that cluster, through its API server and with your rights there.`

// add adds the flags. The command also has the flags of config, which must be added afterwards.
func (s *serverFlags) add(cmd *cobra.Command, c *common) {
	c.config.names.ClusterOverrideFlags.APIServer.LongName = ""
	cmd.Flags().StringVar(&s.url, "server", "", `URL of the "lifeline serve" to use; "" means none`)
	cmd.Flags().StringVar(&s.access.TokenFile, "token-file", "",
		`file with the token of the "lifeline serve" that --server or `+cli.EnvServer+` names`)
	cmd.Flags().StringVar(&s.access.CAFile, "ca-file", "",
		`file with the certificate authorities of the "lifeline serve"; without one those of the system`)
	completeWords(cmd, []string{client.DefaultServer}, "server")
}

// addDirect adds the flag that bypasses servers.
func (s *serverFlags) addDirect(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.direct, "direct", false, "read from the cluster itself, without a server")
}

// choice returns the flags' values.
func (s *serverFlags) choice(cmd *cobra.Command) cli.Server {
	return cli.Server{URL: s.url, Named: cmd.Flags().Changed("server"), Access: s.access, Direct: s.direct}
}

// maybeConnected is connected for commands that can work with a server alone: without a kubeconfig
// the options have none.
func (c *common) maybeConnected() (cli.Options, error) {
	o, err := c.connected()
	if errors.Is(err, proxy.ErrNoConfig) {
		return o, nil
	}
	if err == nil {
		o.Mapper = func() (meta.RESTMapper, error) { return c.config.mapper() }
	}
	return o, err
}

// namespace returns the selected namespace; empty for all, or if none is given.
func (c *common) namespace(o cli.Options) string {
	switch {
	case c.everywhere:
		return ""
	case o.Kubeconfig != nil:
		return o.Kubeconfig.Namespace()
	}
	return c.config.Context.Namespace
}
