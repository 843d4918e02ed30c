// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
	"github.com/kube-lifeline/lifeline/app/internal/docs"
)

func newSQL(streams genericiooptions.IOStreams) *cobra.Command {
	f := &archiveFlags{streams: streams}
	var s command.SQL
	cmd := &cobra.Command{
		Use:   "sql STATEMENT",
		Short: "Ask the archive of a server in SQL",
		Long: `Run one SELECT of SQLite over the archive of "lifeline serve", in its data directory.
The file is only read, and a server may run meanwhile. A statement reads the views
v_lifecycles, v_traces, v_writes and v_spans; their columns:
` + docs.Questions + `
It ends after 10 seconds, and has at most 100,000 rows. Open traces are not
in the archive.

Exit codes: 0; 1 for an error; 130 after Ctrl-C.`,
		Example: `  lifeline sql 'SELECT name, count(*) AS n FROM v_spans GROUP BY name ORDER BY n DESC LIMIT 10'
  lifeline sql "SELECT * FROM v_lifecycles WHERE kind = 'Pod' AND phase_pull > 30" -o csv`,
		Args:              one("a statement"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Statement = args[0]
			if err := s.Validate(); err != nil {
				return err
			}
			return f.run(cmd, func(o command.Options) runner { s.Options = o; return &s })
		},
	}
	f.add(cmd, cmd.Flags())
	cmd.Flags().StringVarP(&s.Output, "output", "o", command.SQLOutputs()[0],
		"output format: "+strings.Join(command.SQLOutputs(), ", "))
	completeWords(cmd, command.SQLOutputs(), "output")
	return cmd
}
