// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
	"github.com/kube-lifeline/lifeline/app/internal/ask"
)

// traceFlags are the flags of lifeline trace.
type traceFlags struct {
	*common
	serverFlags
	all     bool
	archive string
}

func newTrace(streams genericiooptions.IOStreams) *cobra.Command {
	f := &traceFlags{common: newCommon(streams)}
	f.outputs = ask.TraceOutputs()
	cmd := &cobra.Command{
		Use:   "trace KIND/NAME | KIND NAME | TRACE_ID",
		Short: "Show the last change of an object, or one trace",
		Long: `Show the trace of an object's last change, or the trace with an ID. The first 8
digits of the ID are enough. For an object, this is the newest trace that began
with it, otherwise the newest trace that contains it.

` + serverHelp + `

Without a server, or if the server has no trace of the object, the trace is rebuilt
from the present state of the object, its owners and its dependents. Its times then
have whole seconds, and the user is unknown. The first line says so.

With --archive, a finished trace comes from an export of "lifeline archive", or from the
data directory of a server, by its ID. This needs neither a server nor a cluster.

With -o mermaid or -o dot, the trace is a graph of its causes, for Mermaid or for
Graphviz: one node for each object, with the evidence for each edge, and with links
to further causes. -o perfetto is for ui.perfetto.dev. -o html is one file with the
page's view of the trace, which needs no server: for an incident or a CI run.

Exit codes: 0 if a trace was printed, also of a failure; 1 if there is none.`,
		Example: `  lifeline trace deployment/web
  lifeline trace deploy web
  lifeline trace pod/web-7c94b956c7-fh7fl -n shop --all
  lifeline trace 65e16b67 -o json > trace.json
  lifeline trace deploy web -o dot | dot -Tsvg > causes.svg
  lifeline trace deploy web -o html > trace.html
  lifeline trace 65e16b67 --archive traces.jsonl.gz -o html > trace.html
  lifeline trace deployment/web --direct`,
		Args:              oneObject("an object (KIND/NAME) or a trace ID, as `lifeline ls` lists them"),
		ValidArgsFunction: f.completeObjects(f.common, true, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.archive != "" {
				return f.ofArchive(cmd, joined(args)[0])
			}
			t, err := f.complete(cmd, joined(args)[0])
			if err != nil {
				return err
			}
			return execute(cmd.Context(), t)
		},
	}
	f.serverFlags.add(cmd, f.common)
	f.addDirect(cmd)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	f.addOutput(cmd.Flags())
	cmd.Flags().BoolVar(&f.all, "all", false, "also list the object's other traces, on standard error")
	cmd.Flags().StringVar(&f.archive, "archive", "",
		`export ("-" for stdin) or data directory to read instead of a server; needs a trace ID`)
	f.completeOutput(cmd)
	return cmd
}

func (f *traceFlags) complete(cmd *cobra.Command, name string) (*ask.Trace, error) {
	o, err := f.maybeConnected()
	if err != nil {
		return nil, err
	}
	t := &ask.Trace{Options: o, Server: f.choice(cmd), Name: name, Namespace: f.namespace(o), All: f.all}
	return t, t.Validate()
}

// ofArchive prints a trace without a server and without a kubeconfig.
func (f *traceFlags) ofArchive(cmd *cobra.Command, id string) error {
	for _, other := range []string{"server", "direct", "all"} {
		if cmd.Flags().Changed(other) {
			return fmt.Errorf("--archive and --%s exclude each other", other)
		}
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	t := &command.Trace{Options: o, From: f.archive, ID: id}
	if err := t.Validate(); err != nil {
		return err
	}
	return execute(cmd.Context(), t)
}
