// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// guardVar turns a program that imports this package into the guard of the
// node in that directory.
const guardVar = "LIFELINE_LAB_GUARDED_NODE"

// A guard is a process that cleans up a node when its caller dies, however it
// dies: the kernel ends kubelet and containerd then, but neither containers nor
// mounts nor interfaces. It notices by the end of a pipe that only the caller
// holds open.
type guard struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// startGuard starts this executable again, in a separate session, so that a
// signal to the caller's session does not end it.
func (l layout) startGuard() (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot guard the node: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(l.dir, "guard.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot guard the node: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(self) //nolint:noctx // it outlives every context of the caller's
	cmd.Env = append(os.Environ(), guardVar+"="+l.dir)
	cmd.Dir = "/" // so that it keeps no directory in use
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot guard the node: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot guard the node: %w", err)
	}
	return &guard{cmd: cmd, pipe: pipe}, nil
}

// release lets the guard do its work and returns when that is done.
func (g *guard) release() error {
	err := errors.Join(g.pipe.Close(), g.cmd.Wait())
	if err != nil {
		return fmt.Errorf("the guard of the node failed: %w", err)
	}
	return nil
}

// init takes over before main, as test binaries leave no other way in.
func init() {
	dir := os.Getenv(guardVar)
	if dir == "" {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := Cleanup(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
