// SPDX-License-Identifier: Apache-2.0

package run

import "syscall"

// endWithParent ends the command when this process is killed.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
