// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// archiveFlags are the flags of every lifeline archive command. They find the archive.
type archiveFlags struct {
	streams                genericiooptions.IOStreams
	file, dataDir, cluster string
}

func newArchive(streams genericiooptions.IOStreams) *cobra.Command {
	f := &archiveFlags{streams: streams}
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Export, import, back up and clean the archive of a server",
		Long: `Work with the archive of "lifeline serve": the finished traces of a cluster, in its
data directory. While the server runs, it carries out the command: the command reaches it
on a Unix socket in the data directory, as the same user. Without a server, the
command opens the archive itself. In a cluster:

  kubectl -n lifeline exec lifeline-0 -- lifeline archive backup - > lifeline.db

docs/guides/archive.md has more.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.add(cmd, cmd.PersistentFlags())
	cmd.AddCommand(f.newExport(), f.newImport(), f.newBackup(), f.newForget(), f.newPin(), f.newUnpin())
	return cmd
}

// add adds the flags.
func (f *archiveFlags) add(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.StringVar(&f.dataDir, "data-dir", "", `data directory of "lifeline serve" (default as there)`)
	flags.StringVar(&f.file, "config", "", `configuration file of "lifeline serve", for its dataDir`)
	flags.StringVar(&f.cluster, "cluster", "",
		"UID of the cluster, or its beginning; needed if the data directory has several")
	cobra.CheckErr(cobra.MarkFlagDirname(flags, "data-dir"))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("cluster",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			o, err := f.complete()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return o.Clusters(), cobra.ShellCompDirectiveNoFileComp
		}))
}

// complete returns the options. The flag of the data directory overrides the configuration file.
func (f *archiveFlags) complete() (command.Options, error) {
	o := command.Options{Streams: f.streams, DataDir: f.dataDir, ClusterUID: f.cluster}
	if f.file == "" || f.dataDir != "" {
		return o, nil
	}
	c, err := config.Load(f.file)
	if err != nil {
		return o, err
	}
	o.DataDir = c.DataDir
	return o, nil
}

// run completes the options and runs a command.
func (f *archiveFlags) run(cmd *cobra.Command, of func(command.Options) runner) error {
	o, err := f.complete()
	if err != nil {
		return err
	}
	return execute(cmd.Context(), of(o))
}

func (f *archiveFlags) newExport() *cobra.Command {
	var e command.Export
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write traces as JSON lines",
		Long: `Write the traces of the archive as JSON lines, the latest first. Each line is one trace,
as OTLP JSON for other programs. The member "lifeline" has the rest, so that "lifeline
archive import" restores the same trace. Open traces are not in the archive.

Exit codes: 0; 1 for an error; 130 after Ctrl-C.`,
		Example: `  lifeline archive export -o traces.jsonl.gz
  lifeline archive export --since 24h --namespace shop | jq -r .lifeline.traceId`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(o command.Options) runner { e.Options = o; return &e })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&e.File, "output", "o", "",
		"file to write; the ending .gz makes a compressed file (default stdout)")
	flags.StringVar(&e.Since, "since", "",
		"only traces with a later start, as an age or a time: 90m, 1d, 2026-03-01T12:00:00Z")
	flags.StringVar(&e.Until, "until", "", "only traces with an earlier start, as an age or a time")
	flags.StringVarP(&e.Namespace, "namespace", "n", "", "only traces that touch an object in this namespace")
	completeWords(cmd, []string{"1h", "1d", "7d"}, "since", "until")
	completeWords(cmd, nil, "namespace")
	return cmd
}

func (f *archiveFlags) newImport() *cobra.Command {
	var i command.Import
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Store the traces of an export",
		Long: `Store the traces of an export in the archive; "-" reads stdin. A compressed file is
recognized. A repetition changes nothing. A damaged line ends the command; the traces
before it stay. In an empty data directory, the command creates the archive of the
export's cluster.

A server removes imported traces, too, when they reach retention.age.`,
		Example: `  lifeline archive import traces.jsonl.gz
  lifeline archive import --data-dir /tmp/lifeline --skip-damaged traces.jsonl`,
		Args: one("the file to read, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.File = args[0]
			return f.run(cmd, func(o command.Options) runner { i.Options = o; return &i })
		},
	}
	cmd.Flags().BoolVar(&i.SkipDamaged, "skip-damaged", false, "skip damaged lines and count them")
	return cmd
}

func (f *archiveFlags) newBackup() *cobra.Command {
	var b command.Backup
	return &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Copy the whole archive",
		Long: `Write a complete copy of the archive, of one moment, to a new file, or to stdout for
"-". A server continues meanwhile. The copy is an archive: to restore it, stop the
server, put it in the place of lifeline.db in the cluster's directory, and start.`,
		Example: `  lifeline archive backup /backup/lifeline.db
  kubectl -n lifeline exec lifeline-0 -- lifeline archive backup - > lifeline.db`,
		Args: one("the new file, or - for stdout"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.File = args[0]
			return f.run(cmd, func(o command.Options) runner { b.Options = o; return &b })
		},
	}
}

func (f *archiveFlags) newForget() *cobra.Command {
	var g command.Forget
	cmd := &cobra.Command{
		Use:   "forget --namespace NAMESPACE",
		Short: "Remove every trace that touches a namespace",
		Long: `Remove from the archive every trace that touches an object in a namespace, or the
Namespace itself. Each one is removed as a whole, also if it is pinned or touches
other namespaces. Links of other traces to it are removed, too. The data are
overwritten on disk. What waits for the OTLP backend is removed and not sent.

Not covered: open traces, what happens in the namespace from now on, exports,
backups, and the data in the OTLP backend. So delete the namespace first, or end the
changes in it.`,
		Example:           `  lifeline archive forget --namespace shop --yes`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.Namespace == "" {
				return errors.New("lifeline archive forget needs --namespace, the namespace to forget")
			}
			return f.run(cmd, func(o command.Options) runner { g.Options = o; return &g })
		},
	}
	cmd.Flags().StringVarP(&g.Namespace, "namespace", "n", "", "the namespace; required")
	cmd.Flags().BoolVarP(&g.Yes, "yes", "y", false, "do not ask for a confirmation")
	completeWords(cmd, nil, "namespace")
	return cmd
}

func (f *archiveFlags) newPin() *cobra.Command {
	return f.newPinned(
		"pin TRACE",
		"Keep a trace beyond the limits of retention",
		`Keep a trace beyond the limits of retention, until "lifeline archive unpin". TRACE is a
trace ID, or at least its first 8 digits, as "lifeline ls" shows them. "lifeline ls"
marks pinned traces. An open trace can be pinned after its end.`,
		false,
	)
}

func (f *archiveFlags) newUnpin() *cobra.Command {
	return f.newPinned(
		"unpin TRACE",
		"Let retention remove a pinned trace again",
		`Let retention remove a pinned trace again. TRACE is a trace ID, or at least its first 8
digits.`,
		true,
	)
}

func (f *archiveFlags) newPinned(use, short, long string, off bool) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Long:              long,
		Args:              one("the ID of a trace, or its beginning"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, func(o command.Options) runner {
				return &command.Pin{Options: o, Trace: args[0], Off: off}
			})
		},
	}
}
