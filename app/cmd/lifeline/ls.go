// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/docs"
)

const (
	// defaultLimit limits the traces of a list.
	defaultLimit = 50
	// slowByDefault is the value of --slow alone.
	slowByDefault = "10s"
)

// lsFlags are the flags of lifeline ls.
type lsFlags struct {
	*common
	serverFlags
	list ask.List
}

func newLs(streams genericiooptions.IOStreams) *cobra.Command {
	f := &lsFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:     "ls [KIND[/NAME]]",
		Aliases: []string{"list"},
		Short:   "List the changes in the cluster, from a server",
		Long: `List the changes that a server has traced, newest first: the time, the user or
component, the object, what changed, the outcome, the duration, and the slowest part
or the reason. With a kind
or a name, only the traces with such an object are listed. Labels (-l) are the
present labels of the objects in the cluster.

` + serverHelp + `

Exit codes: 0, also for an empty list; 1 without a server, or for an error.`,
		Example: `  lifeline ls
  lifeline ls -A --failed --since 24h
  lifeline ls deployment/web --slow=30s -o wide
  lifeline ls deploy -l app=web --since 1d --sort-by duration
  lifeline ls --where 'kind == "Pod" && phase.pull > duration("30s")'
  lifeline ls --watch
  lifeline ls --open -o json --server http://lifeline.example:7070`,
		ValidArgsFunction: f.completeObjects(f.common, false, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := f.complete(cmd, args)
			if err != nil {
				return err
			}
			return execute(cmd.Context(), l)
		},
	}
	flags := cmd.Flags()
	f.serverFlags.add(cmd, f.common)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	f.addEverywhere(flags)
	flags.StringVarP(&f.list.Output, "output", "o", cli.OutputTable,
		"output format: "+strings.Join(ask.ListOutputs(), ", "))
	flags.StringVar(&f.list.Since, "since", "",
		"only traces with a later start, as an age or a time: 90m, 1d, 2026-03-01T12:00:00Z")
	flags.StringVar(&f.list.Until, "until", "", "only traces with an earlier start, as an age or a time")
	flags.StringVarP(&f.list.Selector, "selector", "l", "",
		"only what touched an object with these labels, as in -l app=web")
	flags.BoolVarP(&f.list.Watch, "watch", "w", false, "after the list, print each change until Ctrl-C")
	flags.StringVar(&f.list.SortBy, "sort-by", "", "order of the list: "+strings.Join(ask.SortOrders(), ", "))
	flags.BoolVar(&f.list.Failed, "failed", false, "only failed and refused traces")
	flags.BoolVar(&f.list.Worse, "worse", false, "only converged traces after which something happened to their Pods")
	flags.StringSliceVar(&f.list.Categories, "category", nil,
		"only traces with a reason of this category, as in --category=image_not_found; all of them: "+docs.Reasons)
	flags.StringVar(&f.list.Where, "where", "",
		`only traces with a lifecycle that matches this question, as in --where 'volumes > 2' (see lifeline find); `+
			`--since and --until are then about the lifecycle`)
	flags.BoolVar(&f.list.Open, "open", false, "only open traces: running, held or stuck")
	flags.DurationVar(&f.list.Slow, "slow", 0,
		"only traces with at least this duration, as in --slow=30s; --slow alone means "+slowByDefault)
	flags.Lookup("slow").NoOptDefVal = slowByDefault
	flags.IntVar(&f.list.Limit, "limit", defaultLimit, "maximum number of traces; 0 means all")
	flags.BoolVar(&f.list.Whole, "no-trunc", false, "print whole trace IDs and whole lines")
	completeWords(cmd, ask.ListOutputs(), "output")
	completeWords(cmd, []string{"10s", "10m", "1h", "1d"}, "since", "until", "slow")
	completeWords(cmd, ask.Categories(), "category")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("where",
		func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeQuestion(cmd, nil, begun)
		}))
	completeWords(cmd, ask.SortOrders(), "sort-by")
	completeWords(cmd, nil, "limit")
	return cmd
}

func (f *lsFlags) complete(cmd *cobra.Command, args []string) (*ask.List, error) {
	l := f.list
	if names := joined(args); len(names) > 1 {
		return nil, fmt.Errorf("lifeline ls takes one object, KIND/NAME or KIND NAME; there are %d", len(names))
	} else if len(names) == 1 {
		l.Name = names[0]
	}
	output := l.Output
	l.Asked = cmd.Flags().Changed("where")
	o, err := f.maybeConnected()
	if err != nil {
		return nil, err
	}
	l.Options, l.Server, l.Output = o, f.choice(cmd), output
	if namespace := f.namespace(o); namespace != "" {
		l.Namespaces = []string{namespace}
	}
	return &l, l.Validate()
}
