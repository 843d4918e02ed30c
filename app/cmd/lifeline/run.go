// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/run"
)

const (
	// defaultTimeout leaves a Deployment the time to fail by itself: its default progress deadline
	// is ten minutes.
	defaultTimeout = 15 * time.Minute
	otlpUsage      = "also send the spans to this OTLP endpoint, such as grpc://localhost:4317 or " +
		"http://localhost:4318 (OTEL_EXPORTER_OTLP_* variables count too)"
)

// runFlags are the flags of lifeline run.
type runFlags struct {
	*common
	server  serverFlags
	timeout time.Duration
	record  string
	otlp    string
}

func newRun(streams genericiooptions.IOStreams) *cobra.Command {
	f := &runFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command and show everything that it sets off in the cluster, until it settles",
		Long: `Run a command and show everything that it sets off in the cluster, until it settles.

The command gets a temporary kubeconfig that leads through a proxy of lifeline's
on loopback, so every write that it makes is known exactly; your credentials
stay with lifeline. It works with kubectl, helm and every other client that
honours KUBECONFIG.

A lifeline serve of the same cluster gets to know the command, and shows the change
under the same trace ID. ` + serverHelp + `

With -o json, standard output is one OTLP document: what the command prints goes
to standard error.

Exit codes: the command's own; then 3 if what it set off did not settle within
--timeout, 4 if it settled as failed; 126 and 127 if the command could not be
run; 130 if you pressed Ctrl-C.`,
		Example: `  lifeline run -- kubectl apply -f app.yaml
  lifeline run -n shop -- helm upgrade --install shop ./chart
  lifeline run -o json -- kubectl rollout restart deployment/web > trace.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.complete(args)
			if err != nil {
				return err
			}
			r.Server = f.server.choice(cmd)
			return execute(cmd.Context(), r)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	f.server.add(cmd, f.common)
	flags.Lookup("server").Usage = `report the change to the "lifeline serve" at this URL; "" reports to none`
	f.addConfig(cmd)
	f.addOutput(flags)
	flags.DurationVar(&f.timeout, "timeout", defaultTimeout, "how long to wait for what the command set off to settle")
	flags.StringVar(&f.record, "record", "", "also record what was seen to this file, for lifeline replay")
	flags.StringVar(&f.otlp, "otlp", "", otlpUsage)
	completeOutput(cmd)
	return cmd
}

// complete checks the flags and creates the command.
func (f *runFlags) complete(args []string) (*run.Command, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("there is no command to run: lifeline run [flags] -- COMMAND")
	case f.timeout <= 0:
		return nil, fmt.Errorf("--timeout %s: it must be more than 0", f.timeout)
	}
	o, err := f.connected()
	if err != nil {
		return nil, err
	}
	return &run.Command{Options: o, Args: args, Timeout: f.timeout, Record: f.record, OTLP: f.otlp}, nil
}
