// SPDX-License-Identifier: Apache-2.0

package agentsandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// grace is how long the controller has to end by itself.
const grace = 10 * time.Second

// CRDs returns the directory of the definitions of its kinds, where dir is
// what Build returned.
func CRDs(dir string) string { return filepath.Join(dir, crds) }

// Controller is a running controller.
type Controller struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts the controller that Build put into dir. It works with that
// kubeconfig, sends its spans to endpoint (host:port, OTLP over gRPC; empty
// leaves its tracing off, as it is by default), listens nowhere, and says what
// it does in the file log. Its kinds must exist. Stop ends it, and the kernel
// does if the caller dies.
func Start(dir, kubeconfig, endpoint, log string) (*Controller, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("cannot make the log of %s: %w", program, err)
	}
	defer out.Close()
	c := &Controller{done: make(chan struct{})}
	c.cmd = exec.Command(filepath.Join(dir, program), //nolint:noctx // Stop ends it
		"--extensions", "--leader-elect=false",
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	c.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if endpoint != "" {
		c.cmd.Args = append(c.cmd.Args, "--enable-tracing")
		c.cmd.Env = append(c.cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+endpoint, "OTEL_BSP_SCHEDULE_DELAY=100")
	}
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", program, err)
	}
	return c, nil
}

// run forks and waits on one thread: the kernel sends the parent's death signal
// when the thread that forked ends, and Go ends idle threads.
func (c *Controller) run(started chan<- error) {
	defer close(c.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err == nil {
		c.err = c.cmd.Wait()
	}
}

// Stop ends the controller, which first sends the spans that it still has, and
// waits for its end. The error is how it ended, if not by itself and well.
func (c *Controller) Stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		<-c.done
		return fmt.Errorf("%s had ended: %w", program, c.err)
	}
	timeout := time.AfterFunc(grace, func() { _ = c.cmd.Process.Kill() })
	defer timeout.Stop()
	<-c.done
	if c.err != nil {
		return fmt.Errorf("%s ended badly: %w", program, c.err)
	}
	return nil
}
