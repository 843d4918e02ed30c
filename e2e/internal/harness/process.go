// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// commandPatience bounds every lifeline command that does not say otherwise.
const commandPatience = 10 * time.Minute

// Call is one invocation of lifeline. The zero value of each field but Args is
// what a user in the lab would have.
type Call struct {
	Args []string
	// Binary is the path of another lifeline than the bench's.
	Binary string
	// Kubeconfig is the path of another kubeconfig than the administrator's.
	Kubeconfig string
	// Env are further variables; they win.
	Env []string
	// Stdin is what the command can read.
	Stdin string
	// Dir is the working directory.
	Dir string
	// Patience bounds the command; zero means ten minutes.
	Patience time.Duration
}

// Process is a running lifeline command, in a separate process group.
type Process struct {
	// Temp is its directory for temporary files.
	Temp string

	cmd    *exec.Cmd
	call   Call
	began  time.Time
	stdout *output
	stderr *output
	done   chan struct{}
	ended  time.Time
	err    error
}

// Begin starts lifeline. The test ends it, if it did not end before.
func (b *Bench) Begin(t testing.TB, call Call) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(call.Patience, commandPatience))
	p := &Process{
		Temp: t.TempDir(), call: call, began: time.Now(),
		stdout: new(output), stderr: new(output), done: make(chan struct{}),
	}
	kubeconfig := call.Kubeconfig
	if kubeconfig == "" {
		kubeconfig = b.Kubeconfig()
	}
	p.cmd = exec.CommandContext(ctx, cmp.Or(call.Binary, b.Lifeline), call.Args...)
	p.cmd.Env = append(append(b.Env(kubeconfig), "TMPDIR="+p.Temp), call.Env...)
	p.cmd.Dir = call.Dir
	p.cmd.Stdin = strings.NewReader(call.Stdin)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What it leaves behind may hold its output open.
	p.cmd.WaitDelay = 20 * time.Second
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("cannot start %s: %v", p, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
		p.ended = time.Now()
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
	})
	return p
}

// String is the command line.
func (p *Process) String() string { return "lifeline " + strings.Join(p.call.Args, " ") }

// Stdout is what it has printed so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr is what it has said so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// AwaitStderr waits until it has said text.
func (p *Process) AwaitStderr(t testing.TB, text string) {
	t.Helper()
	p.await(t, p.Stderr, text)
}

// AwaitStdout waits until it has printed text.
func (p *Process) AwaitStdout(t testing.TB, text string) {
	t.Helper()
	p.await(t, p.Stdout, text)
}

func (p *Process) await(t testing.TB, printed func() string, text string) {
	t.Helper()
	Eventually(t, p.String()+" printing "+text, func() bool {
		if strings.Contains(printed(), text) {
			return true
		}
		select {
		case <-p.done:
			if !strings.Contains(printed(), text) {
				t.Fatalf("%s ended without printing %q:\n%s\n%s", p, text, p.Stderr(), p.Stdout())
			}
		default:
		}
		return false
	})
}

// Signal sends a signal to lifeline alone.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("cannot signal %s: %v", p, err)
	}
}

// SignalGroup sends a signal to lifeline and all that it has started, as a
// terminal would.
func (p *Process) SignalGroup(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil {
		t.Fatalf("cannot signal the group of %s: %v", p, err)
	}
}

// Wait waits for the end.
func (p *Process) Wait(t testing.TB) Result {
	t.Helper()
	<-p.done
	r := Result{Stdout: p.Stdout(), Stderr: p.Stderr(), Began: p.began, Ended: p.ended}
	var exit *exec.ExitError
	switch {
	case errors.As(p.err, &exit):
		r.Code = exit.ExitCode()
	case p.err != nil:
		t.Fatalf("cannot run %s: %v", p, p.err)
	}
	return r
}

// NothingLeft checks that the command, which has ended, left neither a process
// nor a temporary file.
func (p *Process) NothingLeft(t testing.TB) {
	t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("%s left a process behind (signalling its group: %v)", p, err)
	}
	left, err := os.ReadDir(p.Temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("%s left %s behind", p, f.Name())
	}
}

// Do runs a call to its end.
func (b *Bench) Do(t testing.TB, call Call) Result {
	t.Helper()
	return b.Begin(t, call).Wait(t)
}

// output is a buffer that may be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
