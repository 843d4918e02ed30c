// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// Exit codes of the command; others are as in package run.
const (
	codeOK      = 0
	codeError   = 1
	codeMissing = 3
)

// Forms of output.
const (
	OutputText = "text"
	OutputJSON = "json"
)

// Outputs are the forms of output, the default first.
func Outputs() []string { return []string{OutputText, OutputJSON} }

// Command is `lifeline doctor`.
type Command struct {
	// Out receives the report, Log all other messages.
	Out, Log io.Writer
	// Version is the version of this program; Now is its clock, time.Now if nil.
	Version string
	Now     func() time.Time
	// REST is the cluster; nil without a kubeconfig.
	REST *rest.Config
	// Namespace is that of the user in the kubeconfig.
	Namespace string
	// Server finds the server, nil if there is none. An error is the reason why a named server is
	// unusable.
	Server func(context.Context) (*client.Client, error)
	// Output is one of Outputs.
	Output string
	// Bundle is the file for the bundle; empty for none. Telemetry is the URL of the server's
	// metrics; if empty, the server reports it. Names shows the names of users unhashed.
	Bundle, Telemetry string
	Names             bool
	// Probe is a webhook that the API server is to call; nil for none. It is the only write.
	Probe *registration.Options
}

// Validate reports invalid flags.
func (c *Command) Validate() error {
	for _, known := range Outputs() {
		if c.Output == known {
			return nil
		}
	}
	return fmt.Errorf("unknown output %q: known are text, json", c.Output)
}

// Run gathers facts, evaluates them and prints the report. The code is 3 if something that was
// configured is missing, and 1 with an error.
func (c *Command) Run(ctx context.Context) (code int, err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	f := Facts{
		At: c.Now().UTC().Truncate(time.Second), Version: c.Version,
		Cluster: unknown[Cluster]("there is no kubeconfig"),
	}
	server, err := c.Server(ctx)
	if err != nil {
		return codeError, err
	}
	if c.REST != nil {
		f.Cluster = gatherCluster(ctx, c.REST, c.Namespace, c.Now, c.Names, c.Probe)
	}
	f.Server = unknown[Server]("none was named, and none answers at " + client.DefaultServer)
	var metrics []byte
	metricsErr := errors.New("there is no server")
	if server != nil {
		defer server.Close()
		f.Server = gatherServer(ctx, server)
		if s := f.server(); s != nil && c.Bundle != "" {
			metrics, metricsErr = gatherMetrics(ctx, c.Telemetry, server.Server(), s)
		}
	}
	if ctx.Err() != nil {
		return codeError, ctx.Err()
	}
	if !f.Cluster.Is() && !f.Server.Is() {
		return codeError, fmt.Errorf("there is nothing to look at: no cluster (%s) and no server (%s)",
			f.Cluster.Unknown, f.Server.Unknown)
	}
	r := Examine(f)
	return c.tell(&r, metrics, metricsErr)
}

// tell prints the report, and writes the bundle.
func (c *Command) tell(r *Report, metrics []byte, metricsErr error) (code int, err error) {
	write := Print
	if c.Output == OutputJSON {
		write = PrintJSON
	}
	if err := write(c.Out, r); err != nil {
		return codeError, err
	}
	if c.Bundle != "" {
		files, err := bundle(r, metrics, metricsErr)
		if err == nil {
			err = saveBundle(c.Bundle, files, r.Facts.At)
		}
		if err != nil {
			return codeError, err
		}
		fmt.Fprintf(c.Log, "lifeline: wrote %s\n", object.Bound(c.Bundle))
		if r.Facts.Server.Is() && metricsErr != nil {
			fmt.Fprintf(c.Log, "lifeline: without metrics: %s", block(metricsErr.Error()))
		}
	}
	if r.Missing() {
		return codeMissing, nil
	}
	return codeOK, nil
}
