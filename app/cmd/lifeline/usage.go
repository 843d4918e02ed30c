// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ofKubeconfig is the annotation of the flags that select and override a kubeconfig.
const ofKubeconfig = "lifeline-kubeconfig"

// usage prints the usage of a command in cobra's form, with the kubeconfig's flags after the
// command's own. It replaces cobra's usage template: a template calls methods by name, so the linker
// would keep every exported method of the program.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(&b, "\n  %s", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\n\nAliases:\n  %s", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n\nFlags:\n%s", usages(cmd.LocalFlags(), false))
		if flags := usages(cmd.LocalFlags(), true); flags != "" {
			fmt.Fprintf(&b, "\n\nFlags of the kubeconfig, as in kubectl:\n%s", flags)
		}
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\n\nGlobal Flags:\n%s", strings.TrimRight(cmd.InheritedFlags().FlagUsages(), " \n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), b.String())
	return err
}

// usages returns the help of the flags with or without the annotation.
func usages(all *pflag.FlagSet, kubeconfig bool) string {
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.VisitAll(func(f *pflag.Flag) {
		if (f.Annotations[ofKubeconfig] != nil) == kubeconfig {
			group.AddFlag(f)
		}
	})
	return strings.TrimRight(group.FlagUsages(), " \n")
}
