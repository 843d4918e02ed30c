// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	probeInterval = 50 * time.Millisecond
	probeTimeout  = 2 * time.Second
	tailLines     = 12
	tailBytes     = 8 << 10
)

// A Process is a child that was started by a Group.
type Process struct {
	spec    Spec
	cmd     *exec.Cmd
	done    chan struct{} // closed once the process has ended
	state   string        // how it ended; valid once done is closed
	stopped atomic.Bool   // we ended it
}

func (p *Process) wait() {
	_ = p.cmd.Wait() // the state has more detail than the error
	p.state = p.cmd.ProcessState.String()
	close(p.done)
}

func (p *Process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Name returns the name given at the start.
func (p *Process) Name() string { return p.spec.Name }

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// LogFile returns the path that stdout and stderr go to.
func (p *Process) LogFile() string { return p.spec.LogFile }

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns nil while the process runs and after it was stopped on purpose;
// otherwise how it ended, with the last lines of its log.
func (p *Process) Err() error {
	if !p.exited() || p.stopped.Load() {
		return nil
	}
	return p.fail(errors.New("it ended: " + p.state))
}

// fail adds the process' name and the end of its log to err.
func (p *Process) fail(err error) error {
	return fmt.Errorf("%s: %w\nlog %s ends:\n%s", p.spec.Name, err, p.spec.LogFile, Tail(p.spec.LogFile))
}

// WaitReady calls probe until it returns nil. It fails at once when the
// process ends, and with the probe's last error when ctx does.
func (p *Process) WaitReady(ctx context.Context, probe func(context.Context) error) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	last := errors.New("not asked yet")
	for {
		probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
		err := probe(probeCtx)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-p.done:
			return p.fail(errors.New("it ended before it was ready: " + p.state))
		case <-ctx.Done():
			return p.fail(fmt.Errorf("not ready: %w (last answer: %w)", context.Cause(ctx), last))
		case <-tick.C:
		}
	}
}

// Stop sends SIGTERM and waits; after the grace period, or when ctx ends, it
// sends SIGKILL to the whole process group. Stopping twice is harmless.
func (p *Process) Stop(ctx context.Context) error {
	p.stopped.Store(true)
	if p.exited() {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot stop %s (pid %d): %w", p.spec.Name, p.Pid(), err)
	}
	grace := p.spec.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return p.Kill()
}

// Kill sends SIGKILL to the process group and waits until the process has
// ended. Killing twice is harmless.
func (p *Process) Kill() error {
	p.stopped.Store(true)
	if p.exited() {
		return nil
	}
	// Not reaped yet, so the pid, and with it the group's id, is still ours.
	if err := syscall.Kill(-p.Pid(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot kill %s (pid %d): %w", p.spec.Name, p.Pid(), err)
	}
	<-p.done
	return nil
}

// Signal sends a signal to the process group. A process that has ended gets none.
func (p *Process) Signal(signal syscall.Signal) error {
	if p.exited() {
		return nil
	}
	if err := syscall.Kill(-p.Pid(), signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send %v to %s (pid %d): %w", signal, p.spec.Name, p.Pid(), err)
	}
	return nil
}

// Tail returns the last lines of a log, or why it cannot be read.
func Tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	buf := make([]byte, tailBytes)
	var offset int64
	if info, err := f.Stat(); err == nil {
		offset = max(0, info.Size()-tailBytes)
	}
	n, _ := f.ReadAt(buf, offset) // io.EOF comes with what there is
	lines := strings.Split(strings.TrimRight(string(buf[:n]), "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}
