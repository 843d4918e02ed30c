// SPDX-License-Identifier: Apache-2.0

// Package headoperator builds and runs the Head operator of examples/ as a
// process beside a cluster. What its traces should look like is for the tests
// to say.
package headoperator

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// grace is how long the operator has to end by itself.
const grace = time.Minute

// Operator is a running operator.
type Operator struct {
	bench      *harness.Bench
	kubeconfig string
	args       []string
	cert       string
	// webhook is where its webhook listens, host:port; empty for nowhere.
	webhook string
	log     string
	cmd     *exec.Cmd
	done    chan struct{}
}

var compile = sync.OnceValues(func() (string, error) {
	return program.Own(context.Background(), "examples/head-operator", ".")
})

// Program compiles the operator, once in a process, and returns its path.
func Program(t testing.TB) string {
	t.Helper()
	path, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Options say how the operator runs.
type Options struct {
	// Endpoint is where its spans go, host:port; empty for none.
	Endpoint string
	// Rate is the sampling rate per million.
	Rate int
	// Args are further arguments.
	Args []string
	// NoWebhook leaves admission out.
	NoWebhook bool
	// Kubeconfig is whose it runs with; empty for the administrator's. Its kinds are
	// installed as the administrator.
	Kubeconfig string
}

// Start installs the operator's kinds and starts it; it ends with the test.
func Start(t testing.TB, b *harness.Bench, o Options) *Operator {
	t.Helper()
	op := &Operator{
		bench:      b,
		kubeconfig: cmp.Or(o.Kubeconfig, b.Kubeconfig()),
		cert:       t.TempDir(),
		webhook:    harness.Free(t),
		log:        filepath.Join(t.TempDir(), "operator.log"),
	}
	install := []string{"install"}
	if o.NoWebhook {
		op.webhook = ""
		b.MustKubectl(t, "", "delete", "mutatingwebhookconfiguration", "head-operator", "--ignore-not-found")
	} else {
		install = append(install, "--webhook-url", "https://"+op.webhook, "--generate-cert", op.cert)
	}
	op.run(t, install...)
	host, port, err := net.SplitHostPort(cmp.Or(op.webhook, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	op.args = append(op.args, "--webhook-host", host, "--webhook-port", port, "--webhook-cert-dir", op.cert)
	if o.Endpoint != "" {
		config := filepath.Join(t.TempDir(), "tracing.yaml")
		text := fmt.Sprintf("endpoint: %s\nsamplingRatePerMillion: %d\n", o.Endpoint, o.Rate)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		op.args = append(op.args, "--tracing-config-file", config)
	}
	op.args = append(op.args, o.Args...)
	op.Resume(t)
	t.Cleanup(func() {
		op.Stop(t)
		if text, err := os.ReadFile(op.log); t.Failed() && err == nil {
			t.Logf("the operator's last words:\n%s", text[max(0, len(text)-16<<10):])
		}
	})
	return op
}

// run runs the program to its end.
func (o *Operator) run(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Program(t), args...)
	cmd.Env = o.bench.Env(o.bench.Kubeconfig())
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("head-operator %v: %v\n%s", args, err, text)
	}
}

// Resume starts the operator, or starts it again, and waits until its webhook
// answers.
func (o *Operator) Resume(t testing.TB) {
	t.Helper()
	out, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// Not with the test's context: Stop lets it send its last spans.
	o.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), Program(t), o.args...)
	o.cmd.Env = o.bench.Env(o.kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = out, out
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := o.cmd.Start(); err != nil {
		t.Fatalf("cannot start the Head operator: %v", err)
	}
	o.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait()
		_ = out.Close()
	}(o.cmd, o.done)
	if o.webhook == "" {
		return
	}
	harness.Eventually(t, "the operator's webhook to listen", func() bool {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", o.webhook)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// Kill ends the operator as a crash would.
func (o *Operator) Kill(t testing.TB) {
	t.Helper()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Errorf("cannot kill the Head operator: %v", err)
	}
	<-o.done
}

// Stop ends the operator in its own time, with its last spans sent.
func (o *Operator) Stop(t testing.TB) {
	t.Helper()
	select {
	case <-o.done:
		return
	default:
	}
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("cannot stop the Head operator: %v", err)
	}
	select {
	case <-o.done:
	case <-time.After(grace):
		t.Errorf("the Head operator has not ended in %s", grace)
		o.Kill(t)
	}
}
