// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/welcome"
)

// version is set in a release build.
var version = ""

func newRoot(streams genericiooptions.IOStreams, argv0 string) *cobra.Command {
	root := &cobra.Command{
		Use:           "lifeline",
		Short:         "One trace for everything that a change does in a Kubernetes cluster",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetUsageFunc(usage)
	if strings.HasPrefix(filepath.Base(argv0), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lifeline"}
	}
	addVersionFlag(root, streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newRun(streams),
		newWatch(streams),
		newLs(streams),
		newFind(streams),
		newCompare(streams),
		newRegressions(streams),
		newTrace(streams),
		newWhy(streams),
		newUI(streams),
		newServe(streams),
		newInstall(streams),
		newReady(streams),
		newArchive(streams),
		newSQL(streams),
		newWebhook(streams),
		newDiscovery(streams),
		newRBAC(streams),
		newDoctor(streams),
		newRecord(streams),
		newReplay(streams),
		newVersion(streams),
	)
	addCompletion(root, streams)
	return root
}

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(streams) },
	}
}

// addVersionFlag adds --version. Cobra's own flag would print other words, or need a template.
func addVersionFlag(root *cobra.Command, streams genericiooptions.IOStreams) {
	wanted := root.Flags().BoolP("version", "v", false, "version for "+root.DisplayName())
	cobra.CheckErr(root.Flags().SetAnnotation("version", cobra.FlagSetByCobraAnnotation, []string{"true"}))
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *wanted {
			return printVersion(streams)
		}
		return welcomed(cmd, streams)
	}
}

// welcomed is the program without a command.
func welcomed(cmd *cobra.Command, streams genericiooptions.IOStreams) error {
	o, err := newCommon(streams).maybeConnected()
	w := &welcome.Welcome{Options: o, Name: cmd.DisplayName(), Broken: err}
	if err != nil {
		w.Kubeconfig = nil
	}
	return execute(cmd.Context(), w)
}

func printVersion(streams genericiooptions.IOStreams) error {
	_, err := fmt.Fprintln(streams.Out, "lifeline", buildVersion())
	return err
}

func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// common are the flags of every command that uses a cluster.
type common struct {
	streams genericiooptions.IOStreams
	config  *kubeconfig
	output  string
	// outputs are the output formats, the default first.
	outputs    []string
	full       bool
	everywhere bool
}

func newCommon(streams genericiooptions.IOStreams) *common {
	return &common{streams: streams, config: newKubeconfig(), outputs: cli.Outputs()}
}

func (c *common) addOutput(flags *pflag.FlagSet) {
	flags.StringVarP(&c.output, "output", "o", c.outputs[0], "output format: "+strings.Join(c.outputs, ", "))
	flags.BoolVar(&c.full, "full", false,
		"show every span; nothing is folded")
}

func (c *common) addEverywhere(flags *pflag.FlagSet) {
	flags.BoolVarP(&c.everywhere, "all-namespaces", "A", false, "use all namespaces")
}

func (c *common) completeOutput(cmd *cobra.Command) {
	completeWords(cmd, c.outputs, "output")
}

// addConfig adds kubectl's flags, with completion from the kubeconfig.
func (c *common) addConfig(cmd *cobra.Command) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	c.config.addFlags(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] && f.Name != "namespace" {
			cobra.CheckErr(cmd.Flags().SetAnnotation(f.Name, ofKubeconfig, []string{"true"}))
		}
	})
	complete := func(flag string, names func(clientcmdapi.Config) []string) {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				raw, err := c.config.raw()
				if err != nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return names(raw), cobra.ShellCompDirectiveNoFileComp
			}))
	}
	complete("context", func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Contexts)) })
	complete("cluster", func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Clusters)) })
	complete("user", func(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.AuthInfos)) })
}

// options converts the flags of every command.
func (c *common) options() (cli.Options, error) {
	o := cli.Options{
		Streams: c.streams, Output: c.output, Full: c.full, Everywhere: c.everywhere, Version: buildVersion(),
	}
	if c.output != "" {
		if err := cli.CheckOutput(c.output, c.outputs); err != nil {
			return o, err
		}
	}
	return o, nil
}

// connected returns options with the kubeconfig.
func (c *common) connected() (cli.Options, error) {
	o, err := c.options()
	if err != nil {
		return o, err
	}
	o.Kubeconfig, err = proxy.LoadKubeconfig(c.config.loader(), proxy.Overrides{
		Context: c.config.CurrentContext, Cluster: c.config.Context.Cluster, User: c.config.Context.AuthInfo,
	})
	return o, err
}

// namespaces returns the selected namespaces; nil for all.
func (c *common) namespaces(o cli.Options) []string {
	if c.everywhere {
		return nil
	}
	return []string{o.Kubeconfig.Namespace()}
}

// runner is a completed command.
type runner interface {
	Run(ctx context.Context) (code int, err error)
}

func execute(ctx context.Context, r runner) error {
	code, err := r.Run(ctx)
	if code == cli.CodeOK && err == nil {
		return nil
	}
	if code == cli.CodeOK {
		code = cli.CodeError
	}
	return &exit{code: code, err: err}
}

// joined returns the objects in args: kubectl's "deploy web" is "deploy/web".
func joined(args []string) []string {
	if len(args) == 2 && !strings.Contains(args[0]+args[1], "/") {
		return []string{args[0] + "/" + args[1]}
	}
	return args
}

// oneObject is one, and accepts an object in two words.
func oneObject(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return one(what)(cmd, joined(args)) }
}

// one requires exactly one argument, described by what.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		path := cmd.CommandPath()
		return fmt.Errorf("%s takes one argument, %s; there are %d (see %s --help)", path, what, len(args), path)
	}
}
