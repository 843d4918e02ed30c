// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// grace is how long a program has to end by itself.
const grace = time.Minute

// Call is how to start a program.
type Call struct {
	// Path is the program's, Log the file that gets what it says.
	Path, Log string
	Args      []string
	// Env are further variables; they win.
	Env []string
}

// Process is a program that was started.
type Process struct {
	cmd  *exec.Cmd
	call Call
	done chan struct{}
	err  error
	stop func() error
}

// Start starts a program. Stop ends it, and the kernel does if the caller dies.
func Start(call Call) (*Process, error) {
	name := filepath.Base(call.Path)
	// What one before it has said stays.
	out, err := os.OpenFile(call.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make the log of %s: %w", name, err)
	}
	defer out.Close()
	p := &Process{call: call, done: make(chan struct{})}
	p.stop = sync.OnceValue(p.end)
	p.cmd = exec.Command(call.Path, call.Args...) //nolint:noctx // Stop ends it
	p.cmd.Env = append(os.Environ(), call.Env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	return p, nil
}

// run forks and waits on one thread: the kernel sends the parent's death signal
// when the thread that forked ends, and Go ends idle threads.
func (p *Process) run(started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

// Ended is closed once the program has ended, by whatever.
func (p *Process) Ended() <-chan struct{} { return p.done }

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends it a signal.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("cannot send %s to %s: %w", s, filepath.Base(p.call.Path), err)
	}
	return nil
}

// Stop asks the program to end, waits until it has, and kills it if that takes
// too long. The error is how it ended, if not now and well; asked again, it says
// the same again.
func (p *Process) Stop() error { return p.stop() }

func (p *Process) end() error {
	name := filepath.Base(p.call.Path)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		<-p.done
		return fmt.Errorf("%s had ended: %w", name, p.err)
	}
	timeout := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer timeout.Stop()
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%s ended badly: %w", name, p.err)
	}
	return nil
}
