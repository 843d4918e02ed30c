// SPDX-License-Identifier: Apache-2.0

// Package process runs one kube-scheduler as a child process, and replaces it when its configuration
// changes.
package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// patience limits the start of a scheduler until it is ready.
	patience = time.Minute
	// grace limits the end of a scheduler. Its last spans are sent meanwhile.
	grace = 10 * time.Second
	// pace is the time between two probes.
	pace = 50 * time.Millisecond
)

// Scheduler is a kube-scheduler that runs with at most one configuration at a time. It is a Runnable
// of a manager, and ends with it.
type Scheduler struct {
	// Program is the path of the scheduler. It takes kube-scheduler's flags.
	Program string
	// Dir is an existing directory for the configuration and the serving certificate.
	Dir string
	// Log gets the scheduler's output.
	Log io.Writer
	// Exited is called in a new goroutine after a ready scheduler has ended without Run or Stop. Run
	// returns an error for one that was never ready.
	Exited func()
	// Interval is the least time from a start to the call of Exited. It limits the restarts of a
	// scheduler that soon ends again.
	Interval time.Duration

	mu     sync.Mutex
	closed bool
	child  *child
}

// child is one process.
type child struct {
	configuration string
	// certificates is the directory of its serving certificate.
	certificates string
	cmd          *exec.Cmd
	// output has the last line of the scheduler's log. It is complete when done is closed.
	output tail
	// done is closed after the end of the process. err is set before.
	done chan struct{}
	err  error
	// started is the time of the start. It is set before done is closed.
	started time.Time
	// ready is closed once the scheduler is ready.
	ready chan struct{}
	// wanted is closed before a wanted end.
	wanted chan struct{}
}

func (s *Scheduler) runs(configuration string) bool {
	return s.child != nil && s.child.configuration == configuration && !s.child.ended()
}

// Run makes a scheduler run with this configuration. It returns when the scheduler is ready, and the
// one before it has ended. After an error no scheduler runs.
func (s *Scheduler) Run(ctx context.Context, configuration string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("cannot start the scheduler: the operator ends")
	}
	if s.runs(configuration) {
		return nil
	}
	s.stop()
	file := filepath.Join(s.Dir, "scheduler.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("cannot write the scheduler's configuration: %w", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	certificates, err := os.MkdirTemp(s.Dir, "certificate-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the scheduler's certificate: %w", err)
	}
	next := &child{
		configuration: configuration, certificates: certificates,
		done: make(chan struct{}), ready: make(chan struct{}), wanted: make(chan struct{}),
	}
	// Not with ctx: the scheduler outlives the reconcile.
	next.cmd = exec.CommandContext(context.WithoutCancel(ctx), s.Program,
		"--config="+file, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--cert-dir="+certificates)
	log := io.MultiWriter(s.Log, &next.output)
	next.cmd.Stdout, next.cmd.Stderr = log, log
	next.cmd.WaitDelay = grace // for a child of the scheduler that keeps its output open
	if err := s.start(next); err != nil {
		_ = os.RemoveAll(certificates)
		return fmt.Errorf("cannot start the scheduler %s: %w", s.Program, err)
	}
	s.child = next
	err = next.awaitReady(ctx, port, certificates)
	if err == nil {
		close(next.ready)
		err = next.failure() // its end before the close is not reported by Exited
	}
	if err != nil {
		s.stop()
		return fmt.Errorf("the scheduler is not ready: %w", err)
	}
	return nil
}

// Stop ends the scheduler.
func (s *Scheduler) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// Start waits for the end of ctx, and then ends the scheduler for good.
func (s *Scheduler) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
	return nil
}

// start starts the process. The thread that starts it stays until its end: on Linux the process ends
// with that thread, and so with the operator.
func (s *Scheduler) start(c *child) error {
	started := make(chan error)
	go onThread(func() {
		bindLifetime(c.cmd)
		err := c.cmd.Start()
		c.started = time.Now()
		started <- err
		if err != nil {
			return
		}
		c.err = c.cmd.Wait()
		close(c.done)
		s.report(c)
	})
	return <-started
}

// report calls Exited for the unwanted end of a ready scheduler.
func (s *Scheduler) report(c *child) {
	select {
	case <-c.wanted:
		return
	default:
	}
	select {
	case <-c.ready:
	default:
		return
	}
	ctrl.Log.Error(c.err, "the scheduler has ended by itself")
	select {
	case <-c.wanted: // replaced meanwhile
	case <-time.After(time.Until(c.started.Add(s.Interval))):
		s.Exited()
	}
}

func (s *Scheduler) stop() {
	c := s.child
	s.child = nil
	if c == nil {
		return
	}
	defer os.RemoveAll(c.certificates)
	close(c.wanted)
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails after its end
	select {
	case <-c.done:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// failure returns an error if the process has ended.
func (c *child) failure() error {
	if !c.ended() {
		return nil
	}
	return fmt.Errorf("%s, last line %q", c.cmd.ProcessState, c.output.line())
}

// awaitReady waits until the scheduler has read the cluster.
func (c *child) awaitReady(ctx context.Context, port int, certificates string) error {
	url := "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/readyz"
	return wait.PollUntilContextTimeout(ctx, pace, patience, true, func(ctx context.Context) (bool, error) {
		if err := c.failure(); err != nil {
			return false, err
		}
		pem, err := os.ReadFile(filepath.Join(certificates, "kube-scheduler.crt"))
		if err != nil {
			return false, nil //nolint:nilerr // not written yet
		}
		authority := x509.NewCertPool()
		authority.AppendCertsFromPEM(pem)
		return ready(ctx, url, authority), nil
	})
}

func ready(ctx context.Context, url string, authority *x509.CertPool) bool {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := (&http.Client{Transport: transport, Timeout: time.Second}).Do(req)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("cannot find a free port for the scheduler: %w", err)
	}
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(text)
	return port, errors.Join(err, l.Close())
}
