// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kube-lifeline/lifeline/lab"
)

// place identifies the cluster of a command.
type place struct{ name, dir string }

func (p *place) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.name, "name", "lab", "name of the cluster")
	cmd.Flags().StringVar(&p.dir, "dir", "", "directory of the cluster (default: in the lab's cache, by name)")
}

// path returns the cluster's directory.
func (p *place) path() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	return lab.DefaultDir(p.name)
}

// newCommand returns the command tree: data goes to out, talk to talk.
func newCommand(out, talk io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "lab",
		Short:         "Start and end real Kubernetes clusters on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetOut(out)
	cmd.SetErr(talk)
	cmd.AddCommand(
		buildCommand(talk),
		versionsCommand(out),
		upCommand(out, talk),
		downCommand(talk),
		statusCommand(out),
		pathCommand(out, "kubeconfig", "Print the path of a cluster's kubeconfig",
			func(i lab.Info) string { return i.Kubeconfig }),
		pathCommand(out, "bin",
			"Print the folder of the kubectl that fits a cluster, and that of helm: a list for PATH", binPath),
		imageCommand(out),
		bandwidthCommand(),
	)
	return cmd
}

// versionFlag lets a command choose the version of Kubernetes.
func versionFlag(cmd *cobra.Command, opts *lab.Options) {
	cmd.Flags().StringVar(
		&opts.Version,
		"kubernetes",
		"",
		fmt.Sprintf("minor version of Kubernetes: %s (default: $%s, or else the first)",
			strings.Join(lab.Versions(), ", "), lab.VersionEnv),
	)
}

// errNotBuilt is the answer of lab build --check.
var errNotBuilt = errors.New("the programs of such a cluster are not built yet: lab build builds them")

func buildCommand(talk io.Writer) *cobra.Command {
	var (
		nodes           string
		check, upstream bool
		opts            lab.Options
	)
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build what a cluster needs, without starting one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Nodes, opts.Progress = lab.NodeMode(nodes), talk
			if upstream {
				_, err := lab.UpstreamTests(cmd.Context(), talk)
				return err
			}
			if !check {
				return lab.Build(cmd.Context(), opts)
			}
			built, err := lab.Built(cmd.Context(), opts)
			if err == nil && !built {
				err = errNotBuilt
			}
			return err
		},
	}
	versionFlag(cmd, &opts)
	addOnsFlag(cmd, &opts)
	cmd.Flags().StringVar(&nodes, "nodes", "kwok", "who plays the nodes: kwok, real or none")
	cmd.Flags().BoolVar(&check, "check", false, "build nothing; fail if something is not built")
	cmd.Flags().BoolVar(&upstream, "upstream-tests", false, "build Kubernetes' own end-to-end tests instead")
	return cmd
}

// addOnsFlag lets a command choose add-ons.
func addOnsFlag(cmd *cobra.Command, opts *lab.Options) {
	usage := fmt.Sprintf("what the cluster has beyond Kubernetes, of %v", lab.AddOns())
	cmd.Flags().Var(addOnsValue{&opts.AddOns}, "add-ons", usage)
}

// addOnsValue reads NAME,NAME into lab.Options.AddOns.
type addOnsValue struct{ to *[]lab.AddOn }

// Type implements pflag.Value.
func (addOnsValue) Type() string { return "NAME,NAME" }

// String implements pflag.Value.
func (v addOnsValue) String() string {
	if v.to == nil {
		return ""
	}
	var names []string
	for _, a := range *v.to {
		names = append(names, string(a))
	}
	return strings.Join(names, ",")
}

// Set implements pflag.Value. lab.Options.Validate checks the names.
func (v addOnsValue) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		*v.to = append(*v.to, lab.AddOn(strings.TrimSpace(name)))
	}
	return nil
}

func versionsCommand(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "versions",
		Short: "Print the minor versions of Kubernetes that the lab can run, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, v := range lab.Versions() {
				fmt.Fprintln(out, v)
			}
			return nil
		},
	}
}

func upCommand(out, talk io.Writer) *cobra.Command {
	var (
		where place
		nodes string
		opts  lab.Options
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster that runs until it is taken down",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := where.path()
			if err != nil {
				return err
			}
			opts.Name, opts.Dir, opts.Nodes = where.name, dir, lab.NodeMode(nodes)
			opts.Detached, opts.Progress = true, talk
			cluster, err := lab.Start(cmd.Context(), opts)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "export KUBECONFIG=%s\n", cluster.Kubeconfig())
			return nil
		},
	}
	where.flags(cmd)
	versionFlag(cmd, &opts)
	addOnsFlag(cmd, &opts)
	cmd.Flags().StringVar(&nodes, "nodes", "kwok", "who plays the nodes: kwok, real or none")
	cmd.Flags().IntVar(&opts.NodeCount, "node-count", 1, "how many nodes KWOK plays")
	cmd.Flags().StringVar(&opts.Scheduler, "scheduler", "",
		"absolute path of a program in place of kube-scheduler, with the same flags")
	cmd.Flags().Var(tracingFlag{&opts.Tracing}, "tracing", tracingUsage)
	cmd.Flags().Int64Var(&opts.PullBandwidth, "pull-bandwidth", 0,
		"bytes a second that the registry of real nodes sends (0: no limit)")
	return cmd
}

func downCommand(talk io.Writer) *cobra.Command {
	var (
		where place
		all   bool
	)
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End a cluster, however it was started and whatever became of who started it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := where.dirs(all)
			if err != nil {
				return err
			}
			var errs []error
			for _, dir := range dirs {
				if err := lab.End(cmd.Context(), dir); err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(talk, "ended; logs remain in %s\n", filepath.Join(dir, "log"))
			}
			return errors.Join(errs...)
		},
	}
	where.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "end every cluster in the usual places, those of running tests too")
	return cmd
}

// dirs returns the directory of one cluster, or those of all that run.
func (p *place) dirs(all bool) ([]string, error) {
	if !all {
		dir, err := p.path()
		return []string{dir}, err
	}
	infos, err := lab.List()
	var dirs []string
	for _, info := range infos {
		if info.Running() {
			dirs = append(dirs, info.Dir)
		}
	}
	return dirs, err
}

// pathCommand prints one path of a cluster.
func pathCommand(out io.Writer, use, short string, path func(lab.Info) string) *cobra.Command {
	var where place
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := where.path()
			if err != nil {
				return err
			}
			info, err := lab.Inspect(dir)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, path(info))
			return nil
		},
	}
	where.flags(cmd)
	return cmd
}

func statusCommand(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "status [DIR]...",
		Short: "List clusters and their processes: those in the usual places, or in the directories",
		RunE: func(_ *cobra.Command, dirs []string) error {
			infos, err := lab.List()
			if len(dirs) > 0 {
				infos, err = inspectAll(dirs)
			}
			if err != nil {
				return err
			}
			return printStatus(out, infos)
		},
	}
}

// binPath lists the folders of the programs for users of a cluster.
func binPath(info lab.Info) string {
	path := filepath.Dir(info.Kubectl)
	if info.Helm != "" {
		path += string(filepath.ListSeparator) + filepath.Dir(info.Helm)
	}
	return path
}

func inspectAll(dirs []string) ([]lab.Info, error) {
	var infos []lab.Info
	for _, dir := range dirs {
		info, err := lab.Inspect(dir)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func printStatus(out io.Writer, infos []lab.Info) error {
	if len(infos) == 0 {
		fmt.Fprintln(out, "no clusters")
	}
	for _, info := range infos {
		state := "down"
		if info.Running() {
			state = "up"
		}
		fmt.Fprintf(out, "%s: %s, Kubernetes %s, nodes %s, %s\n  directory %s\n  audit log %s\n",
			info.Name, state, info.Kubernetes, info.Nodes, info.Server, info.Dir, info.AuditLog)
		if info.Registry != "" {
			fmt.Fprintf(out, "  images %s/app:v1 and app:v2\n", info.Registry)
		}
		if info.Git != "" {
			fmt.Fprintf(out, "  Git repository %s\n", info.Git)
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, p := range info.Processes {
			running := "ended"
			if p.Running {
				running = "running"
			}
			fmt.Fprintf(w, "  %s\t%s\tpid %d\t%s\n", p.Name, running, p.Pid, p.Log)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
