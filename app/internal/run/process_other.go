// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package run

import "syscall"

// endWithParent returns nil: the system has no such feature.
func endWithParent() *syscall.SysProcAttr { return nil }
