// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// runAlone runs the program of an image in root, as its user. lifeline prints its version, others their help.
func runAlone(t *testing.T, root string, config v1.Config) string {
	t.Helper()
	uid, gid, _ := strings.Cut(config.User, ":")
	argument := map[string]string{"/lifeline": "version", "/lifeline-scheduler": "--version"}[config.Entrypoint[0]]
	if argument == "" {
		argument = "--help"
	}
	cmd := exec.CommandContext(t.Context(), config.Entrypoint[0], argument)
	cmd.Env, cmd.Dir = config.Env, config.WorkingDir
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: id(t, uid), Gid: id(t, gid)},
	}
	out, _ := cmd.CombinedOutput() // the output says whether it ran
	return string(out)
}

func id(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		t.Fatalf("the user is %q: %v", text, err)
	}
	return uint32(n)
}
