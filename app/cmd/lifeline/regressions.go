// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
)

// regressionsFlags are the flags of lifeline regressions.
type regressionsFlags struct {
	*common
	serverFlags
	regressions ask.Regressions
	output      string
}

func newRegressions(streams genericiooptions.IOStreams) *cobra.Command {
	f := &regressionsFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "regressions [KIND/NAME]",
		Short: "List what got slower, since when, and what it began with",
		Long: `List the phases that got slower and stayed so, by more than chance, the worst first:
since when, the median before and after, the interval of the difference at 95 %, and
the numbers of samples. A sample is one change of a workload, or of an object without
one. Then comes the change that it began with, or what it goes with: an image, a
registry, a node, a zone, a version. Values that always occur together cannot be told
apart, and are named together.

With a workload, list the shifts of its phases only, and the changes in the day
before each: those of the workload, of its namespace, and of the nodes and classes
that the shift goes with.

` + serverHelp + `

Exit codes: 0, whatever was found; 1 without a server, or for an error.`,
		Example: `  lifeline regressions
  lifeline regressions --since 7d -n shop
  lifeline regressions deploy/web
  lifeline regressions --where 'kind == "Pod" && zone == "b"'
  lifeline regressions --faster --ended -o wide
  lifeline regressions -o json | jq -r '.shifts[] | [.workload, .phase, .ratio] | @tsv'`,
		ValidArgsFunction: f.completeObjects(f.common, false, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := joined(args)
			if len(names) > 1 {
				return fmt.Errorf(
					"lifeline regressions takes one workload, KIND/NAME or KIND NAME; there are %d",
					len(names),
				)
			}
			o, err := f.maybeConnected()
			if err != nil {
				return err
			}
			o.Output = f.output
			r := f.regressions
			r.Options, r.Server = o, f.choice(cmd)
			if len(names) > 0 {
				r.Name = names[0]
			}
			if len(names) > 0 || cmd.Flags().Changed("namespace") {
				r.Namespace = f.namespace(o)
			}
			if err := r.Validate(); err != nil {
				return err
			}
			return execute(cmd.Context(), &r)
		},
	}
	f.serverFlags.add(cmd, f.common)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	flags := cmd.Flags()
	f.addEverywhere(flags)
	flags.Lookup("all-namespaces").Usage = "use all namespaces, as without --namespace"
	flags.StringVarP(&f.output, "output", "o", ask.CompareOutputs()[0],
		"output format: "+strings.Join(ask.CompareOutputs(), ", "))
	flags.StringVar(&f.regressions.Where, "where", "", "only the samples of this question (see lifeline find)")
	flags.StringVar(&f.regressions.Since, "since", "",
		"only samples with a later start, as an age or a time: 7d, 2026-03-01T12:00:00Z (default 30d)")
	flags.StringVar(&f.regressions.Until, "until", "", "only samples with an earlier start, as an age or a time")
	flags.BoolVar(&f.regressions.Faster, "faster", false, "also what got faster")
	flags.BoolVar(&f.regressions.Ended, "ended", false, "also what was slower and is as before")
	completeWords(cmd, ask.CompareOutputs(), "output")
	completeWords(cmd, []string{"7d", "30d", "90d", "365d"}, "since", "until")
	completeWhere(cmd, "where")
	return cmd
}
