// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// whyFlags are the flags of lifeline why.
type whyFlags struct {
	*common
	serverFlags
	output, selector string
}

func newWhy(streams genericiooptions.IOStreams) *cobra.Command {
	f := &whyFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "why [KIND/NAME... | KIND [NAME...]]",
		Short: "List what is broken now, or say why an object is not ready and which change caused it",
		Long: `Without an object, list the problems now, the worst first: objects that are not in
their desired state, whatever became of the change that led to it. Objects that fail
for one cause are one problem. Each has its age, its reason, the change that led to
it with its author, and a command that shows more.

With an object, say in a sentence how it is: what it waits for or why it has failed,
since when, which change caused it, what it waited for before, and a command that
shows more. Further changes of the object that are stuck get a sentence each. With
several objects, or with all of a kind, those with something wrong come first, and
the others have one line each.

` + serverHelp + `

Without a server, the answer is derived from the present state of the object, its
owners and its dependents; a list, or the answers about a kind, from all objects of
the namespace. The user is then unknown, and so may be the time.

Exit codes: 0 if nothing is wrong, also for a running change or a held object; 3 if
there is a problem, or the object is stuck; 4 if its change has failed; 1 if there is
no answer, also about one of several objects.`,
		Example: `  lifeline why
  lifeline why -A
  lifeline why -l app=web
  lifeline why deployment/web
  lifeline why deploy web -n shop
  lifeline why deploy/web deploy/api
  lifeline why deploy
  lifeline why pod/web-7c94b956c7-fh7fl -o json | jq -r '.answers[0].category'
  lifeline why -A -o json | jq -r '.problems[].category'`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 && !strings.Contains(args[0], "/") {
				args = args[:1] // each further word is a name of that kind
			}
			return f.completeObjects(f.common, false, true)(cmd, args, begun)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.complete(cmd, args)
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
	f.addEverywhere(flags)
	flags.StringVarP(&f.selector, "selector", "l", "", "only what concerns objects with these labels, as in -l app=web")
	flags.StringVarP(&f.output, "output", "o", ask.WhyOutputs()[0],
		"output format: "+strings.Join(ask.WhyOutputs(), ", "))
	completeWords(cmd, ask.WhyOutputs(), "output")
	return cmd
}

// validated is a completed command with checked options.
type validated interface {
	runner
	Validate() error
}

// complete returns the command for the arguments.
func (f *whyFlags) complete(cmd *cobra.Command, args []string) (runner, error) {
	names, kinds := whyObjects(args)
	switch {
	case len(names) > 0 && f.everywhere:
		return nil, errors.New("--all-namespaces (-A) goes with a kind or nothing: an object by its name is in one " +
			"namespace, which -n gives")
	case len(names) > 0 && f.selector != "":
		return nil, fmt.Errorf("--selector (-l) goes with a kind or nothing, and not with the name %s",
			cli.Shown(names[0]))
	}
	o, err := f.maybeConnected()
	if err != nil {
		return nil, err
	}
	o.Output = f.output
	of := ask.Why{Trace: ask.Trace{Options: o, Server: f.choice(cmd), Namespace: f.namespace(o)}}
	var out validated
	switch {
	case len(names)+len(kinds) == 0:
		out = &ask.Problems{Options: o, Server: of.Server, Namespace: of.Namespace, Selector: f.selector}
	case len(names) == 1:
		of.Name = names[0]
		out = &of
	default:
		out = &ask.WhySome{Why: of, Names: names, Kinds: kinds, Selector: f.selector}
	}
	return out, out.Validate()
}

// whyObjects returns the objects, or else the kinds, of kubectl's forms: "deploy", "deploy,sts", "deploy web api" and
// "deploy/web sts/db".
func whyObjects(args []string) (names, kinds []string) {
	switch {
	case len(args) == 0:
		return nil, nil
	case strings.Contains(strings.Join(args, ""), "/"):
		return args, nil
	case len(args) == 1:
		return nil, strings.Split(args[0], ",")
	}
	for _, name := range args[1:] {
		names = append(names, args[0]+"/"+name)
	}
	return names, nil
}
