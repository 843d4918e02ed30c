// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ofKubeconfig is the annotation of the flags that select and override a kubeconfig.
const ofKubeconfig = "lifeline-kubeconfig"

// groupFlags puts the kubeconfig's flags after the command's own in the help.
func groupFlags(root *cobra.Command) {
	cobra.AddTemplateFunc("ownFlags", func(all *pflag.FlagSet) string { return usages(all, false) })
	cobra.AddTemplateFunc("kubeconfigFlags", func(all *pflag.FlagSet) string { return usages(all, true) })
	const flags = "{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	root.SetUsageTemplate(strings.Replace(
		root.UsageTemplate(),
		flags,
		"{{ownFlags .LocalFlags}}{{with kubeconfigFlags .LocalFlags}}\n\nFlags of the kubeconfig, as in "+
			"kubectl:\n{{.}}{{end}}",
		1,
	))
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
