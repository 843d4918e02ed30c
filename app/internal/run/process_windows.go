// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// codeOf returns the command's exit code.
func codeOf(state *os.ProcessState, err error) int {
	if state == nil || state.ExitCode() == 0 && err != nil {
		return cli.CodeError
	}
	return state.ExitCode()
}

// fromTerminal reports whether Ctrl-C reaches the command directly: a console sends it to every
// attached process.
func fromTerminal() bool { return true }
