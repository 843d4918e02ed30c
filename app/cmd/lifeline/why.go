// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
)

func newWhy(streams genericiooptions.IOStreams) *cobra.Command {
	f := &traceFlags{common: newCommon(streams)}
	var output string
	cmd := &cobra.Command{
		Use:   "why KIND/NAME | KIND NAME",
		Short: "Say why an object is not ready, and which change caused it",
		Long: `Say in a sentence how an object is: what it waits for or why it has failed, since
when, which change caused it, what it waited for before, and a command that shows
more. Further changes of the object that are stuck get a sentence each.

` + serverHelp + `

Without a server, the answer is derived from the present state of the object, its
owners and its dependents. The user is then unknown, and so may be the time.

Exit codes: 0 if nothing is wrong, also for a running change or a held object; 3 if the
object is stuck; 4 if its change has failed; 1 if there is no answer.`,
		Example: `  lifeline why deployment/web
  lifeline why deploy web -n shop
  lifeline why pod/web-7c94b956c7-fh7fl -o json | jq -r '.answers[0].category'`,
		Args:              oneObject("an object (KIND/NAME)"),
		ValidArgsFunction: f.completeObjects(f.common, false, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.maybeConnected()
			if err != nil {
				return err
			}
			o.Output = output
			w := &ask.Why{Trace: ask.Trace{
				Options: o, Server: f.choice(cmd), Name: joined(args)[0], Namespace: f.namespace(o),
			}}
			if err := w.Validate(); err != nil {
				return err
			}
			return execute(cmd.Context(), w)
		},
	}
	f.serverFlags.add(cmd, f.common)
	f.addDirect(cmd)
	f.addConfig(cmd)
	f.completeNamespaces(cmd, f.common)
	cmd.Flags().StringVarP(&output, "output", "o", ask.WhyOutputs()[0],
		"output format: "+strings.Join(ask.WhyOutputs(), ", "))
	completeWords(cmd, ask.WhyOutputs(), "output")
	return cmd
}
