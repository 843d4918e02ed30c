// SPDX-License-Identifier: Apache-2.0

package churn

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

// server is a `lifeline serve` beside the cluster.
type server struct {
	process *exec.Cmd
	done    chan struct{}
	err     error
	log     string
	// api and telemetry are host:port.
	api, telemetry string
}

var (
	apiListens       = regexp.MustCompile(`msg="API listens" address=(\S+)`)
	telemetryListens = regexp.MustCompile(` telemetry=(\S+)`)
)

// serve starts lifeline as a separate user with the right to read everything, and
// waits until it is ready. Its log goes to a file, because it runs longer than
// the other commands of the harness. The test ends it.
func serve(t *testing.T, backend, dir string) *server {
	t.Helper()
	bench.MustKubectl(t, "", "create", "clusterrole", user, "--verb=get,list,watch", "--resource=*.*")
	bench.MustKubectl(t, "", "create", "clusterrolebinding", user, "--clusterrole="+user, "--user="+user)
	config := harness.File(
		t,
		"apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\ntelemetry: {pprof: true}\n",
	)
	s := &server{log: filepath.Join(dir, "lifeline.log"), done: make(chan struct{})}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.process = exec.CommandContext(t.Context(), bench.Lifeline, "serve", "--config", config, "--data-dir", t.TempDir(),
		"--api-address", "127.0.0.1:0", "--telemetry-address", "127.0.0.1:0", "--otlp", "http://"+backend)
	s.process.Env = bench.Env(bench.KubeconfigFor(user))
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		s.err = s.process.Wait()
	}()
	t.Cleanup(func() {
		_ = s.process.Process.Kill()
		<-s.done
	})
	harness.Eventually(t, "lifeline serve being ready", func() bool {
		s.alive(t)
		text := s.text(t)
		api, telemetry := apiListens.FindStringSubmatch(text), telemetryListens.FindStringSubmatch(text)
		if api == nil || telemetry == nil {
			return false
		}
		s.api, s.telemetry = api[1], telemetry[1]
		answer, err := s.ask(t, s.telemetry, "/readyz")
		if err != nil {
			return false
		}
		defer answer.Close()
		return true
	})
	return s
}

// alive ends the test if the server has ended.
func (s *server) alive(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
		t.Fatalf("lifeline serve ended: %v\n%s", s.err, s.text(t))
	default:
	}
}

// stop ends the server as an administrator would.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.done
	if s.err != nil {
		t.Errorf("lifeline serve ended: %v\n%s", s.err, s.text(t))
	}
}

func (s *server) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// askPatience bounds a question, a profile of the processor included.
const askPatience = time.Minute

var asking = &http.Client{Timeout: askPatience, Transport: &http.Transport{DisableKeepAlives: true}}

// ask gets what a listener answers with status 200.
func (s *server) ask(t *testing.T, address, path string) (io.ReadCloser, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for %s: %w", path, err)
	}
	answer, err := asking.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for %s: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("cannot ask for %s: %s: %s", path, answer.Status, text)
	}
	return answer.Body, nil
}

// summary has the used fields of a trace in the API's list.
type summary struct {
	TraceID string    `json:"traceId"`
	Open    bool      `json:"open"`
	Start   time.Time `json:"start"`
	Outcome string    `json:"outcome"`
	Spans   int       `json:"spans"`
}

// traces are what the API answers to a query.
func (s *server) traces(t *testing.T, query string) []summary {
	t.Helper()
	body, err := s.ask(t, s.api, "/api/v1/traces?"+query)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	var page struct {
		Traces []summary `json:"traces"`
	}
	if err := json.NewDecoder(body).Decode(&page); err != nil {
		t.Fatalf("cannot read the answer to %s: %v", query, err)
	}
	return page.Traces
}

// profile keeps a profile, if anything is kept.
func (s *server) profile(t *testing.T, kind, name string) {
	t.Helper()
	if size.keep == "" {
		return
	}
	body, err := s.ask(t, s.telemetry, "/debug/pprof/"+kind)
	if err != nil {
		t.Errorf("no profile: %v", err)
		return
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err == nil {
		err = os.WriteFile(filepath.Join(size.keep, name), data, 0o600)
	}
	if err != nil {
		t.Errorf("cannot keep profile %s: %v", name, err)
	}
}
