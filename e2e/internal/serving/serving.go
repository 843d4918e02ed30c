// SPDX-License-Identifier: Apache-2.0

// Package serving runs a `lifeline serve` for a long time: its log goes to a file, and its profiles
// to a directory. Package harness has the server of short tests.
package serving

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// Process is a running `lifeline serve`. It ends with the test at the latest.
type Process struct {
	// API and Telemetry are host:port; empty until Await has found them in the log.
	API, Telemetry string
	// Keep is the directory for profiles; empty for none.
	Keep string

	command *exec.Cmd
	done    chan struct{}
	err     error
	log     string
}

// Config has the profiles in the telemetry.
const Config = "apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\ntelemetry: {pprof: true}\n"

var (
	apiListens       = regexp.MustCompile(`msg="API listens" address=(\S+)`)
	telemetryListens = regexp.MustCompile(` telemetry=(\S+)`)
)

// Start starts the binary with free ports and further arguments.
func Start(t *testing.T, binary, log string, env []string, args ...string) *Process {
	t.Helper()
	p := &Process{log: log, done: make(chan struct{})}
	to, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	args = append([]string{"serve", "--api-address", "127.0.0.1:0", "--telemetry-address", "127.0.0.1:0"}, args...)
	p.command = exec.CommandContext(t.Context(), binary, args...)
	p.command.Env, p.command.Stdout, p.command.Stderr = env, to, to
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.err = p.command.Wait()
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.done
	})
	return p
}

// Await waits until the server is ready. Meanwhile it calls listens once, when Telemetry is known;
// listens may be nil.
func (p *Process) Await(t *testing.T, patience time.Duration, listens func()) {
	t.Helper()
	harness.Within(t, patience, "lifeline serve being ready", func() bool {
		p.Alive(t)
		text := p.Text(t)
		if found := telemetryListens.FindStringSubmatch(text); found != nil && p.Telemetry == "" {
			if p.Telemetry = found[1]; listens != nil {
				listens()
			}
		}
		if found := apiListens.FindStringSubmatch(text); found != nil {
			p.API = found[1]
		}
		if p.Telemetry == "" || p.API == "" {
			return false
		}
		_, err := p.Read(t, p.Telemetry, "/readyz")
		return err == nil
	})
}

// PID returns the ID of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Alive ends the test if the process has ended.
func (p *Process) Alive(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
		t.Fatalf("lifeline serve ended: %v\n%s", p.err, p.Text(t))
	default:
	}
}

// Stop ends the process as an administrator would, and returns the time until its end.
func (p *Process) Stop(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.done
	if p.err != nil {
		t.Errorf("lifeline serve ended: %v\n%s", p.err, p.Text(t))
	}
	return time.Since(began)
}

// Kill ends the process as a crash would.
func (p *Process) Kill(t *testing.T) {
	t.Helper()
	p.Alive(t)
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
}

// Text returns the log so far.
func (p *Process) Text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// patience bounds a request, a profile of the processor included.
const patience = 2 * time.Minute

var asking = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// Read returns the body of an answer with status 200. The address is API or Telemetry.
func (*Process) Read(t *testing.T, address, path string) ([]byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for %s: %w", path, err)
	}
	answer, err := asking.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for %s: %w", path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer to %s: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot ask for %s: %s: %s", path, answer.Status, text)
	}
	return text, nil
}

// Summary has the used fields of a trace in the API's list.
type Summary struct {
	TraceID string    `json:"traceId"`
	Open    bool      `json:"open"`
	Start   time.Time `json:"start"`
	Outcome string    `json:"outcome"`
	Spans   int       `json:"spans"`
}

// Traces returns the traces of a query.
func (p *Process) Traces(t *testing.T, query string) ([]Summary, error) {
	t.Helper()
	body, err := p.Read(t, p.API, "/api/v1/traces?"+query)
	if err != nil {
		return nil, err
	}
	var page struct {
		Traces []Summary `json:"traces"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("cannot read the answer to %s: %w", query, err)
	}
	return page.Traces, nil
}

// Profile keeps a profile, if anything is kept.
func (p *Process) Profile(t *testing.T, kind, name string) error {
	t.Helper()
	if p.Keep == "" {
		return nil
	}
	data, err := p.Read(t, p.Telemetry, "/debug/pprof/"+kind)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Keep, name), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot keep profile %s: %w", name, err)
	}
	return nil
}
