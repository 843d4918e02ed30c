// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
)

// compareFlags are the flags of lifeline compare.
type compareFlags struct {
	*common
	serverFlags
	compare ask.Compare
	output  string
}

func newCompare(streams genericiooptions.IOStreams) *cobra.Command {
	f := &compareFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "compare [A [B]]",
		Short: "Compare two changes, two workloads, or the time before and after a change",
		Long: `Compare two things phase by phase: the duration on both sides, its share of the whole,
and the difference. The differences of the phases add up to that of the whole. Then
comes what else differs: image, node, zone, version, author, changed fields.

A and B are two traces of lifeline ls, or two objects as KIND/NAME. An object alone
is compared with itself before and after its newest change, before and after the
change of --change, or before and after a time. --where and --and are two questions
in place of A and B (see lifeline find).

Of two traces, the critical paths are compared. Of objects and questions, all
finished lifecycles are: the durations are medians, and each difference has its
interval at 95 % and its numbers of samples. A side with fewer than 8 samples is too
small for a verdict. The row rest has what remains of the whole, also phases of fewer
than half of the lifecycles. Of a workload, its new Pods are compared. Without a time,
sets are about the last 7 days, and the first set is about the 7 days before the time.

` + serverHelp + `

Exit codes: 0, whatever the difference; 1 without a server, or for an error.`,
		Example: `  lifeline compare 4bf92f35 0af76519
  lifeline compare deploy/web
  lifeline compare deploy/web --change 4bf92f35
  lifeline compare deploy/web --before 12:00 --after 12:00
  lifeline compare deploy/web deploy/api -n shop
  lifeline compare --where 'node == "node-1"' --and 'node == "node-2"'
  lifeline compare --where 'kind == "Pod" && zone == "b"' --before "2026-03-01 12:00" -o wide`,
		Args: cobra.MaximumNArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return f.completeObjects(f.common, true, true)(cmd, args, begun)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.maybeConnected()
			if err != nil {
				return err
			}
			o.Output = f.output
			if !ask.AreTraces(args) {
				args = joined(args)
			}
			compare := f.compare
			compare.Options, compare.Server, compare.Names = o, f.choice(cmd), args
			if len(args) > 0 || cmd.Flags().Changed("namespace") {
				compare.Namespace = f.namespace(o)
			}
			if err := compare.Validate(); err != nil {
				return err
			}
			return execute(cmd.Context(), &compare)
		},
	}
	f.serverFlags.add(cmd, f.common)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", ask.CompareOutputs()[0],
		"output format: "+strings.Join(ask.CompareOutputs(), ", "))
	flags.StringVar(&f.compare.Where, "where", "", "the first set, as a question (see lifeline find)")
	flags.StringVar(&f.compare.And, "and", "", "the second set, as a question")
	flags.StringVar(&f.compare.Before, "before", "",
		`the first set began before this time, as in 12:00, "2026-03-01 12:00" or 90m (ago)`)
	flags.StringVar(&f.compare.After, "after", "",
		"the second set began at this time or later; --before and --after stand for each other")
	flags.StringVar(&f.compare.Change, "change", "",
		"a trace: the first set began before it, the second one with it or later")
	flags.StringVar(&f.compare.Since, "since", "",
		"only lifecycles with a later start, as an age or a time: 90m, 1d, 2026-03-01T12:00:00Z")
	flags.StringVar(&f.compare.Until, "until", "", "only lifecycles with an earlier start, as an age or a time")
	completeWords(cmd, ask.CompareOutputs(), "output")
	completeWords(cmd, []string{"1h", "1d", "7d"}, "since", "until", "before", "after")
	completeWords(cmd, nil, "change")
	completeWhere(cmd, "where", "and")
	return cmd
}

// completeWhere completes the questions of flags.
func completeWhere(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag,
			func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return completeQuestion(cmd, nil, begun)
			}))
	}
}
