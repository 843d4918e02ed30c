// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// signalBase is the shells' offset between a signal's number and its exit code.
const signalBase = 128

// codeOf returns the exit code that a shell would return.
func codeOf(state *os.ProcessState, err error) int {
	if state == nil {
		return cli.CodeError
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalBase + int(status.Signal())
	}
	if state.ExitCode() == 0 && err != nil {
		return cli.CodeError // its output could not be passed on
	}
	return state.ExitCode()
}

// fromTerminal reports whether this process is in the foreground of a terminal. Ctrl-C then reaches
// the whole process group.
func fromTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer tty.Close() // only asked
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
