// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// replacement is a change of a completion script of cobra. The old text must be there once.
type replacement struct{ old, changed string }

// Cobra's scripts evaluate the line as it is, which fails with an open quote, and a question needs quotes.
// The replaced lines close the quote for the evaluation, and offer words as they stand inside it.
var (
	bashInQuotes = []replacement{
		{
			`    local cur prev words cword split
`, `    local cur prev words cword split quoted=
`,
		},
		{
			`    __lifeline_debug "Calling ${requestComp}"
`, `    # Inside an open quote, close it
    if [[ ${cur} == [\'\"]* ]]; then
        quoted=${cur:0:1}
        cur=${cur:1}
        requestComp+=${quoted}
    fi

    __lifeline_debug "Calling ${requestComp}"
`,
		},
		{
			`    __lifeline_debug "__lifeline_handle_completion_types: COMP_TYPE is $COMP_TYPE"
`, `    __lifeline_debug "__lifeline_handle_completion_types: COMP_TYPE is $COMP_TYPE"

    # Bash inserts a word into an open quote as it is
    if [[ -n ${quoted} ]]; then
        local line char
        for line in "${completions[@]}"; do
            line=${line%%$'\t'*}
            if [[ ${quoted} == '"' ]]; then
                for char in '\' '"' '$' '` + "`" + `'; do
                    line=${line//"${char}"/"\\${char}"}
                done
            fi
            [[ ${line} == "${cur}"* ]] && COMPREPLY+=("${line}")
        done
        return 0
    fi
`,
		},
		{
			`    local comp="$1"
    local char=$2
`, `    local comp="$1"
    local char=$2
    [[ -n ${quoted} ]] && return # the quote keeps the word whole
`,
		},
	}
	zshInQuotes = []replacement{
		{
			`    words=("${=words[1,CURRENT]}")
`, `    # Inside an open quote, spaces belong to the word.
    local quote=""
    if [[ "${words[CURRENT]}" == (|-*=)[\'\"]* ]]; then
        quote=${${words[CURRENT]#-*=}[1]}
        words=("${(@)words[1,CURRENT]}")
    else
        words=("${=words[1,CURRENT]}")
    fi
`,
		},
		{
			`    if [[ "${lastParam}" =~ '-.*=' ]]; then
`, `    if [[ "${lastParam}" =~ '^-[^=]*=' ]]; then
`,
		},
		{
			`    if [ "${lastChar}" = "" ]; then
`, `    if [ -n "${quote}" ]; then
        requestComp="${requestComp}${quote}"
    elif [ "${lastChar}" = "" ]; then
`,
		},
	}
)

// addCompletion adds cobra's completion command, with scripts that complete inside quotes, too.
func addCompletion(root *cobra.Command, streams genericiooptions.IOStreams) {
	root.InitDefaultCompletionCmd()
	for shell, script := range map[string]struct {
		write, withoutHelp func(io.Writer) error
		changes            []replacement
	}{
		"bash": {
			func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
			func(w io.Writer) error { return root.GenBashCompletionV2(w, false) }, bashInQuotes,
		},
		"zsh": {root.GenZshCompletion, root.GenZshCompletionNoDesc, zshInQuotes},
	} {
		cmd, _, err := root.Find([]string{"completion", shell})
		cobra.CheckErr(err)
		cmd.RunE = func(cmd *cobra.Command, _ []string) error {
			write := script.write
			if none, err := cmd.Flags().GetBool("no-descriptions"); err == nil && none {
				write = script.withoutHelp
			}
			var text bytes.Buffer
			if err := write(&text); err != nil {
				return err
			}
			changed, err := replaced(text.String(), script.changes)
			if err != nil {
				return fmt.Errorf("cannot change the completion script for %s: %w", shell, err)
			}
			_, err = io.WriteString(streams.Out, changed)
			return err
		}
	}
}

// replaced returns a script with all replacements.
func replaced(script string, changes []replacement) (string, error) {
	for _, c := range changes {
		if n := strings.Count(script, c.old); n != 1 {
			return "", fmt.Errorf("it has the text %q %d times, not once", c.old, n)
		}
		script = strings.Replace(script, c.old, c.changed, 1)
	}
	return script, nil
}
