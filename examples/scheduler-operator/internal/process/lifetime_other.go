// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "os/exec"

func onThread(f func()) { f() }

// bindLifetime does nothing: after kill -9 of the operator, its scheduler stays.
func bindLifetime(*exec.Cmd) {}
