// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A commandLine is that of a process, its name first; empty for a zombie.
type commandLine []string

func commandLineOf(pid int) commandLine {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
}

func (c commandLine) program() string {
	if len(c) == 0 {
		return ""
	}
	return filepath.Base(c[0])
}

// after returns the argument that follows flag.
func (c commandLine) after(flag string) string {
	if i := slices.Index(c, flag); i >= 0 && i+1 < len(c) {
		return c[i+1]
	}
	return ""
}

// isDaemon matches this node's kubelet and containerd. The caller has usually ended them.
func (l layout) isDaemon(c commandLine) bool {
	switch c.program() {
	case ContainerdProcess:
		return slices.Contains(c, l.containerdArg())
	case KubeletProcess:
		return slices.Contains(c, l.kubeletArg())
	default:
		return false
	}
}

// isHelper matches runc and the shims of this node's containers. Shims outlive containerd on
// purpose.
func (l layout) isHelper(c commandLine) bool {
	switch program := c.program(); {
	case strings.HasPrefix(program, "containerd-shim"):
		return c.after("-address") == l.socket()
	case program == "runc":
		return within(c.after("--root"), l.runcRoot())
	default:
		return false
	}
}

// endProcesses kills the processes that match and returns once none is left.
func endProcesses(ctx context.Context, match func(commandLine) bool) error {
	return until(ctx, func() error {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return fmt.Errorf("cannot list processes: %w", err)
		}
		var killed []int
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && kill(pid, match) {
				killed = append(killed, pid)
			}
		}
		// Another look, as one of them may have started another.
		if len(killed) > 0 {
			return fmt.Errorf("cannot end processes %v", killed)
		}
		return nil
	})
}

// kill kills a process if it matches, and reports whether it did. The file
// descriptor refers to this process, even if another one gets its PID.
func kill(pid int, match func(commandLine) bool) bool {
	if !match(commandLineOf(pid)) {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	if !match(commandLineOf(pid)) {
		return false
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); errors.Is(err, unix.ESRCH) {
		return false
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000) //nolint:gosec // a descriptor fits
	return true
}
