// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// child is the command while it runs. Its code and end are valid once exited is closed.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	code   int
	end    time.Time
}

// lookUp finds a program like a shell. Without one, it returns a shell's exit code.
func lookUp(name string) (path string, code int, err error) {
	path, err = exec.LookPath(name)
	switch {
	case err == nil:
		return path, 0, nil
	case errors.Is(err, exec.ErrDot):
		return "", cli.CodeNotFound, fmt.Errorf(
			"cannot run %q: it is in the current directory, which PATH may not name; use ./%s", name, name,
		)
	case errors.Is(err, syscall.EISDIR):
		return "", cli.CodeNotRunnable, fmt.Errorf("cannot run %q: it is a directory", name)
	case errors.Is(err, fs.ErrPermission):
		return "", cli.CodeNotRunnable, fmt.Errorf("cannot run %q: it is not executable", name)
	}
	return "", cli.CodeNotFound, fmt.Errorf("cannot run %q: there is no such command", name)
}

// start runs the command with the given streams. Where the system supports it, the command gets
// SIGTERM when this process is killed.
func start(
	path string, args []string, streams genericiooptions.IOStreams, env []string, now func() time.Time,
) (*child, error) {
	c := &child{
		cmd:    exec.Command(path, args[1:]...), //nolint:noctx // signals end it, as they would without us
		exited: make(chan struct{}),
	}
	c.cmd.Args[0] = args[0]
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = streams.In, streams.Out, streams.ErrOut
	c.cmd.Env = env
	c.cmd.SysProcAttr = endWithParent()
	started := make(chan error)
	go func() {
		// Linux sends the signal when the thread that started the command ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(c.exited)
		err = c.cmd.Wait()
		c.end = now()
		c.code = codeOf(c.cmd.ProcessState, err)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot run %q: %w", args[0], err)
	}
	return c, nil
}

// pass forwards a signal unless the terminal has sent it to the command, too.
func (c *child) pass(s os.Signal) {
	if s == os.Interrupt && fromTerminal() {
		return
	}
	_ = c.cmd.Process.Signal(s) // it may have just ended
}

// kill ends a running command and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.exited
}
