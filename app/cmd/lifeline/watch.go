// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
)

// watchFlags are the flags of lifeline watch.
type watchFlags struct {
	*common
	serverFlags
	record, otlp string
	duration     time.Duration
}

func newWatch(streams genericiooptions.IOStreams) *cobra.Command {
	f := &watchFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "watch [KIND/NAME...]",
		Short: "Show each change in the cluster as it happens",
		Long: `Show each change in the cluster as it happens. A trace is printed after it has
settled. With names, only the changes of these objects are shown. Ctrl-C ends the
command and prints the open traces. With -o json, each trace is one OTLP document
on one line; with -o mermaid or -o dot, each is one graph of its causes.

The changes come from a server if there is one, otherwise from the cluster; with
--direct, --record or --otlp always from the cluster.

` + serverHelp + `

Exit codes: 0 at the end of --for; 130 after Ctrl-C; 1 for an error.`,
		Example: `  lifeline watch -n shop
  lifeline watch deployment/web -o json
  lifeline watch -A --direct --record seen.jsonl.gz`,
		ValidArgsFunction: f.completeObjects(f.common, false, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.complete(cmd, joined(args))
			if err != nil {
				return err
			}
			return execute(cmd.Context(), w)
		},
	}
	flags := cmd.Flags()
	f.serverFlags.add(cmd, f.common)
	f.addDirect(cmd)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	f.addOutput(flags)
	f.addEverywhere(flags)
	flags.DurationVar(&f.duration, "for", 0, "end after this time; 0 means at Ctrl-C")
	flags.StringVar(&f.record, "record", "", "also record the observations to this file, for lifeline replay")
	flags.StringVar(&f.otlp, "otlp", "", otlpUsage)
	f.completeOutput(cmd)
	return cmd
}

func (f *watchFlags) complete(cmd *cobra.Command, args []string) (*ask.Watch, error) {
	o, err := f.maybeConnected()
	if err != nil {
		return nil, err
	}
	w := &ask.Watch{Options: o, Server: f.choice(cmd), Names: args, Record: f.record, OTLP: f.otlp, For: f.duration}
	if namespace := f.namespace(o); namespace != "" {
		w.Namespaces = []string{namespace}
	}
	return w, w.Validate()
}
