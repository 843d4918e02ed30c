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
	// defaultCrashLoop is some three restarts.
	defaultCrashLoop = 30 * time.Second
	otlpUsage        = "also send the spans to this OTLP endpoint, such as grpc://localhost:4317 or " +
		"http://localhost:4318 (the variables OTEL_EXPORTER_OTLP_* work, too)"
)

// runFlags are the flags of lifeline run.
type runFlags struct {
	*common
	server  serverFlags
	timeout time.Duration
	record  string
	otlp    string
	// summary and junit are files for a CI system.
	summary, junit string
	// failFast and crashLoop end the wait for what is stuck.
	failFast  bool
	crashLoop time.Duration
}

func newRun(streams genericiooptions.IOStreams) *cobra.Command {
	f := &runFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command and show all its effects in the cluster",
		Long: `Run a command and show all its effects in the cluster, until they have settled.

The command gets a temporary kubeconfig for a proxy on loopback, so lifeline sees
each of its writes. Your credentials stay in the proxy. It works with kubectl,
helm and every other client that uses KUBECONFIG.

A lifeline serve of the same cluster shows the change under the same trace ID.
` + serverHelp + `

With -o json, standard output is one OTLP document, with -o mermaid or -o dot one
graph of the causes. The output of the command then goes to standard error.

With --fail-fast, the wait ends as soon as nothing in sight can change what is stuck:
an image that does not exist, a used-up quota, a missing ConfigMap, no node that fits
and no autoscaler, a crash loop for --crash-loop.

Exit codes: that of the command, if it is not 0; 3 if the effects did not settle
within --timeout; 4 if they failed; 126 or 127 if the command could not be started;
130 after Ctrl-C.`,
		Example: `  lifeline run -- kubectl apply -f app.yaml
  lifeline run -n shop -- helm upgrade --install shop ./chart
  lifeline run -o json -- kubectl rollout restart deployment/web > trace.json`,
		ValidArgsFunction: completeCommand,
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
	flags.Lookup("server").Usage = `report the change to the "lifeline serve" at this URL; "" means none`
	f.addConfig(cmd)
	f.server.completeNamespaces(cmd, f.common)
	f.addOutput(flags)
	flags.DurationVar(&f.timeout, "timeout", defaultTimeout,
		"maximum time for the effects to settle after the end of the command")
	flags.StringVar(&f.summary, "summary", "",
		"also add a summary in Markdown to this file, such as $GITHUB_STEP_SUMMARY")
	flags.StringVar(&f.junit, "junit", "", "also write a JUnit report to this file")
	flags.BoolVar(&f.failFast, "fail-fast", false, "end as soon as nothing in sight can change what is stuck")
	flags.DurationVar(&f.crashLoop, "crash-loop", defaultCrashLoop,
		"with --fail-fast, the time that a crash loop must last")
	flags.StringVar(&f.record, "record", "", "also record the observations to this file, for lifeline replay")
	flags.StringVar(&f.otlp, "otlp", "", otlpUsage)
	f.completeOutput(cmd)
	return cmd
}

// complete checks the flags and creates the command.
func (f *runFlags) complete(args []string) (*run.Command, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("there is no command to run: lifeline run [flags] -- COMMAND")
	case f.crashLoop < 0:
		return nil, fmt.Errorf("--crash-loop %s: it must be 0 or more", f.crashLoop)
	case f.timeout <= 0:
		return nil, fmt.Errorf("--timeout %s: it must be more than 0", f.timeout)
	}
	o, err := f.connected()
	if err != nil {
		return nil, err
	}
	return &run.Command{
		Options: o, Args: args, Timeout: f.timeout, Record: f.record, OTLP: f.otlp,
		Summary: f.summary, JUnit: f.junit, FailFast: f.failFast, CrashLoop: f.crashLoop,
	}, nil
}
