// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/ask"
)

// completion is a function that completes an argument or the value of a flag.
type completion = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// completer returns the completer of the selected server and namespace. It prints nothing.
func (s *serverFlags) completer(cmd *cobra.Command, c *common) *ask.Completer {
	o, err := c.maybeConnected()
	if err != nil {
		o.Kubeconfig = nil // the server may answer without it
	}
	o.Streams = genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}
	return &ask.Completer{Options: o, Server: s.choice(cmd), Namespace: c.namespace(o)}
}

// completeObjects completes objects as a command accepts them.
func (s *serverFlags) completeObjects(c *common, ids, several bool) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		completer := s.completer(cmd, c)
		completer.IDs, completer.Several = ids, several
		words, open := completer.Objects(cmd.Context(), args, begun)
		if open {
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNamespaces completes the flag of the namespace, which the command must have.
func (s *serverFlags) completeNamespaces(cmd *cobra.Command, c *common) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("namespace",
		func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return s.completer(cmd, c).Namespaces(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
		}))
}

// completeWords completes the values of flags with words, and never with the names of files.
func completeWords(cmd *cobra.Command, words []string, flags ...string) {
	for _, flag := range flags {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag,
			cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
	}
}
