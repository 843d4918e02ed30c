// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
	"github.com/kube-lifeline/lifeline/app/internal/docs"
)

// findFlags are the flags of lifeline find.
type findFlags struct {
	*common
	serverFlags
	find   ask.Find
	output string
}

func newFind(streams genericiooptions.IOStreams) *cobra.Command {
	f := &findFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "find QUESTION",
		Short: "Find lifecycles of objects by a question, or statistics of them",
		Long: `Find the lifecycles that match a question, newest first: each is one change of one
object, from its first write to its outcome. The question is a condition in CEL over
fields such as kind, namespace, outcome, duration, phase.pull, images and volumes;
all of them: ` + docs.Questions + `
Without --namespace, all namespaces are searched.

With --sort, they are in the order of a duration or a count, over all that match.

With --by, --of or --quantiles, the answer is statistics of the finished lifecycles
that match. --by has up to three keys: fields with a text, labels["app"], image, field
(that changed), author, and hour, day or week. A lifecycle with several images counts
once for each. Without a time, answers are about the last 7 days.

` + serverHelp + `

Exit codes: 0, also without a match; 1 without a server, or for an error.`,
		Example: `  lifeline find 'kind == "Pod" && phase.startup > duration("30s") && volumes > 2'
  lifeline find 'outcome == "failed"' --since 30d -o csv > failed.csv
  lifeline find 'kind == "Pod"' --sort phase.schedule --limit 20
  lifeline find 'kind == "Pod"' --by image,node --of phase.pull --quantiles 0.5,0.95 --sort p95
  lifeline find 'kind == "Pod" && ended.readiness - began.pull > duration("20s")'
  lifeline find 'kind == "Pod"' --by workload --of 'ended.readiness - began.pull' --quantiles 0.5,0.99
  lifeline find 'outcome == "failed"' --by author,week --since 30d
  lifeline find 'kind == "Deployment"' --by day --tz Europe/Berlin`,
		Args:              one("a question"),
		ValidArgsFunction: completeQuestion,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.maybeConnected()
			if err != nil {
				return err
			}
			find := f.find
			o.Output = f.output
			find.Options, find.Server, find.Where = o, f.choice(cmd), args[0]
			if find.Grouped() && !cmd.Flags().Changed("limit") {
				find.Limit = 0
			}
			if cmd.Flags().Changed("namespace") {
				find.Namespace = f.namespace(o)
			}
			if err := find.Validate(); err != nil {
				return err
			}
			return execute(cmd.Context(), &find)
		},
	}
	f.serverFlags.add(cmd, f.common)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	flags := cmd.Flags()
	f.addEverywhere(flags)
	flags.Lookup("all-namespaces").Usage = "use all namespaces, as without --namespace"
	flags.StringVarP(&f.output, "output", "o", ask.FindOutputs()[0],
		"output format: "+strings.Join(ask.FindOutputs(), ", "))
	flags.StringVar(&f.find.Since, "since", "",
		"only lifecycles with a later start, as an age or a time: 90m, 1d, 2026-03-01T12:00:00Z")
	flags.StringVar(&f.find.Until, "until", "", "only lifecycles with an earlier start, as an age or a time")
	flags.IntVar(&f.find.Limit, "limit", defaultLimit,
		"maximum number of lifecycles, or of groups if given with --by; 0 means all")
	flags.BoolVar(&f.find.Whole, "no-trunc", false, "print whole trace IDs")
	flags.StringArrayVar(&f.find.By, "by", nil,
		`count by these keys: fields or other texts, as in 'labels["app"]', or image, field, author, hour, day, week`)
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "group-by" { // its name in earlier versions
			name = "by"
		}
		return pflag.NormalizedName(name)
	})
	flags.StringVar(&f.find.Sort, "sort", "", "order lifecycles by a duration or a count, as in phase.pull, the highest "+
		"first; groups by count, or by a quantile, as in p95")
	flags.BoolVar(&f.find.Reverse, "reverse", false, "the lowest of --sort first")
	flags.StringVar(&f.find.Of, "of", "", `the duration that --quantiles are of, as in `+
		`'ended.readiness - began.pull' (default "duration")`)
	flags.StringSliceVar(&f.find.Quantiles, "quantiles", nil, "quantiles of --of, as in 0.5,0.9,0.99")
	flags.StringVar(&f.find.Zone, "tz", "", `time zone of times and days, such as Europe/Berlin (default: that of `+
		`this machine for times, and UTC for days)`)
	complete := func(flag string, words []string) {
		completeWords(cmd, words, flag)
	}
	complete("output", ask.FindOutputs())
	complete("since", []string{"1h", "1d", "7d"})
	complete("until", []string{"1h", "1d", "7d"})
	complete("quantiles", []string{"0.5,0.9,0.99"})
	for flag, words := range map[string]func(string) []string{
		"of": ask.LengthWords, "by": ask.KeyWords, "sort": ask.SortWords,
	} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag,
			func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return words(begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}))
	}
	completeWords(cmd, nil, "limit", "tz")
	return cmd
}

// completeQuestion completes a question, which goes on after each word.
func completeQuestion(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return ask.QuestionWords(begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
