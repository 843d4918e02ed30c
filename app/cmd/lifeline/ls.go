// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
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
		Short:   "List the changes that a server has seen",
		Long: `List the changes that a server has seen, newest first: when, who did what, how it
ended and what took longest. With a kind or a name, only those that such an
object took part in are listed. Labels (-l) are those of the objects in the
cluster now.

` + serverHelp + `

Exit codes: 0, also if nothing matches; 1 if there is no server, or it cannot be
asked.`,
		Example: `  lifeline ls
  lifeline ls -A --failed --since 24h
  lifeline ls deployment/web --slow=30s -o wide
  lifeline ls deploy -l app=web --since 1d --sort-by duration
  lifeline ls --watch
  lifeline ls --open -o json --server http://lifeline.example:7070`,
		ValidArgsFunction: cobra.NoFileCompletions,
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
	f.addEverywhere(flags)
	flags.StringVarP(&f.list.Output, "output", "o", cli.OutputTable,
		"how to print: "+strings.Join(ask.ListOutputs(), ", "))
	flags.StringVar(&f.list.Since, "since", "",
		"only what began after this time, or that long ago: 90m, 1d, 2026-03-01T12:00:00Z")
	flags.StringVar(&f.list.Until, "until", "", "only what began before this time, or longer ago than that")
	flags.StringVarP(
		&f.list.Selector,
		"selector",
		"l",
		"",
		"only what touched an object with these labels, as in -l app=web",
	)
	flags.BoolVarP(&f.list.Watch, "watch", "w", false, "after the list, print each change until Ctrl-C")
	flags.StringVar(&f.list.SortBy, "sort-by", "", "order of the list: "+strings.Join(ask.SortOrders(), ", "))
	flags.BoolVar(&f.list.Failed, "failed", false, "only what failed")
	flags.BoolVar(&f.list.Open, "open", false, "only what has not ended yet")
	flags.DurationVar(&f.list.Slow, "slow", 0,
		"only what took at least that long, as in --slow=30s; --slow alone means "+slowByDefault)
	flags.Lookup("slow").NoOptDefVal = slowByDefault
	flags.IntVar(&f.list.Limit, "limit", defaultLimit, "how many to list at most; 0 for all")
	flags.BoolVar(&f.list.Whole, "no-trunc", false, "print whole trace IDs, and cut nothing to the terminal's width")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(ask.ListOutputs(), cobra.ShellCompDirectiveNoFileComp)))
	for _, flag := range []string{"since", "until", "slow"} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag,
			cobra.FixedCompletions([]string{"10s", "10m", "1h", "1d"}, cobra.ShellCompDirectiveNoFileComp)))
	}
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("sort-by",
		cobra.FixedCompletions(ask.SortOrders(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("limit", cobra.NoFileCompletions))
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
