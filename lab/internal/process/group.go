// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// defaultGrace is how long Stop waits between SIGTERM and SIGKILL.
const defaultGrace = 10 * time.Second

// Spec describes a process to run.
type Spec struct {
	// Name identifies the process within its group: "kube-apiserver".
	Name string
	// Path is the executable; Args are its arguments without the name.
	Path string
	Args []string
	// Argv0 is what the program sees as its own name; empty means Path.
	Argv0 string
	// Env is added to the caller's environment.
	Env []string
	// Dir is the working directory; empty means the caller's.
	Dir string
	// LogFile receives stdout and stderr, appended.
	LogFile string
	// Grace is how long Stop waits after SIGTERM; zero means ten seconds.
	Grace time.Duration
}

// A Group holds the processes of one cluster. Its methods may be called
// concurrently. The zero value is not usable: see NewGroup.
type Group struct {
	record   *record
	detached bool
	starts   chan func()
	done     chan struct{}

	mu    sync.Mutex
	procs map[string]*Process
	order []string
}

// NewGroup returns a group that records its processes in dir, which must
// exist. The processes of a detached group outlive the caller; all others are
// killed by the kernel when the caller dies. Close releases the group.
func NewGroup(dir string, detached bool) *Group {
	g := &Group{
		record:   &record{path: filepath.Join(dir, recordFile)},
		detached: detached,
		starts:   make(chan func()),
		done:     make(chan struct{}),
		procs:    map[string]*Process{},
	}
	go g.starter()
	return g
}

// starter runs every fork on one locked thread. The kernel sends the parent
// death signal when the *thread* that forked ends, and Go ends idle threads.
func (g *Group) starter() {
	defer close(g.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := range g.starts {
		start()
	}
}

// Start runs spec and returns once the process exists. It fails if a process
// of that name is running in the group.
func (g *Group) Start(spec Spec) (*Process, error) {
	if p := g.Get(spec.Name); p != nil && !p.exited() {
		return nil, fmt.Errorf("cannot start %s: it is running as pid %d", spec.Name, p.Pid())
	}
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of %s: %w", spec.Name, err)
	}
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...) //nolint:noctx // Stop ends it, and a detached one stays
	cmd.Env = append(os.Environ(), spec.Env...)
	if spec.Argv0 != "" {
		cmd.Args[0] = spec.Argv0
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if g.detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	started := make(chan error)
	g.starts <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", spec.Name, err)
	}

	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	go p.wait()
	if err := g.record.add(entryOf(p)); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, again := g.procs[spec.Name]; !again {
		g.order = append(g.order, spec.Name)
	}
	g.procs[spec.Name] = p
	return p, nil
}

// Get returns the latest process of that name, or nil.
func (g *Group) Get(name string) *Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.procs[name]
}

// Stop ends all processes, the last started first, and waits for them. It
// returns what could not be ended.
func (g *Group) Stop(ctx context.Context) error {
	g.mu.Lock()
	var procs []*Process
	for i := len(g.order) - 1; i >= 0; i-- {
		procs = append(procs, g.procs[g.order[i]])
	}
	g.mu.Unlock()

	var errs []error
	for _, p := range procs {
		errs = append(errs, p.Stop(ctx))
	}
	return errors.Join(errs...)
}

// Close releases the group. Unless it is detached, processes that still run
// are killed. The group must not be used afterwards.
func (g *Group) Close() error {
	var errs []error
	if !g.detached {
		g.mu.Lock()
		for _, p := range g.procs {
			errs = append(errs, p.Kill())
		}
		g.mu.Unlock()
	}
	close(g.starts)
	<-g.done
	return errors.Join(errs...)
}
