// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// onThread runs f on a separate thread.
func onThread(f func()) {
	runtime.LockOSThread() // and the thread ends with the goroutine
	f()
}

// bindLifetime ends the command's process with the thread that starts it.
func bindLifetime(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
