// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// server is a `lifeline serve` that can be ended and started again. Each start is a new process on the
// same data directory.
type server struct {
	binary, kubeconfig, config, data string
	// keep is the directory for logs and profiles; empty for none.
	keep   string
	starts int

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

func newServer(t *testing.T, kubeconfig, keep string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{
		binary: filepath.Join(dir, "lifeline"), kubeconfig: kubeconfig, data: filepath.Join(dir, "data"), keep: keep,
	}
	if err := harness.Build(t.Context(), s.binary); err != nil {
		t.Fatal(err)
	}
	s.config = harness.File(
		t,
		"apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\ntelemetry: {pprof: true}\n",
	)
	return s
}

// started is the cost of a start.
type started struct {
	// ready is the time from the start of the process until /readyz answers 200.
	ready time.Duration
	// cpu is the processor time of the process until then, in seconds, and peak its largest memory.
	cpu, peak float64
}

// readyPatience bounds the wait for a start: some times the aim, for a slower machine.
const readyPatience = 8 * time.Minute

// start starts a process and waits until it is ready.
func (s *server) start(t *testing.T) started {
	t.Helper()
	s.starts++
	dir := s.keep
	if dir == "" {
		dir = t.TempDir()
	}
	s.log = filepath.Join(dir, fmt.Sprintf("lifeline-%d.log", s.starts))
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.done, s.err, s.api, s.telemetry = make(chan struct{}), nil, "", ""
	s.process = exec.CommandContext(t.Context(), s.binary, "serve", "--config", s.config, "--data-dir", s.data,
		"--api-address", "127.0.0.1:0", "--telemetry-address", "127.0.0.1:0")
	s.process.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "LIFELINE_SERVER=none")
	s.process.Stdout, s.process.Stderr = log, log
	began := time.Now()
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	process, done := s.process, s.done
	go func() {
		defer close(done)
		s.err = process.Wait()
	}()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		<-done
	})
	profile := fmt.Sprintf("cpu-start-%d.pprof", s.starts)
	profiling, profiled := false, make(chan struct{})
	close(profiled)
	harness.Within(t, readyPatience, "lifeline serve being ready", func() bool {
		s.alive(t)
		if s.telemetry == "" || s.api == "" {
			text := s.text(t)
			if found := telemetryListens.FindStringSubmatch(text); found != nil {
				s.telemetry = found[1]
			}
			if found := apiListens.FindStringSubmatch(text); found != nil {
				s.api = found[1]
			}
			if s.telemetry != "" && s.keep != "" && !profiling {
				profiling = true
				address := s.telemetry
				profiled = make(chan struct{})
				go func() {
					defer close(profiled)
					s.profile(t, address, "profile?seconds=20", profile)
				}()
			}
			return false
		}
		answer, err := get(t, s.telemetry, "/readyz")
		if err != nil {
			return false
		}
		answer.Close()
		return true
	})
	out := started{ready: time.Since(began), cpu: s.cpu(t), peak: s.peak(t)}
	<-profiled
	return out
}

// alive ends the test if the process has ended.
func (s *server) alive(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
		t.Fatalf("lifeline serve ended: %v\n%s", s.err, s.text(t))
	default:
	}
}

// stop ends the process as an administrator would, and returns the time until its end. On a busy machine
// it may end without its last state: the next process then replays the journal and reads the rest again.
func (s *server) stop(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.done
	if s.err != nil {
		t.Logf("lifeline serve ended: %v\n%s", s.err, s.text(t))
	}
	return time.Since(began)
}

// kill ends the process as a crash would.
func (s *server) kill(t *testing.T) {
	t.Helper()
	s.alive(t)
	if err := s.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.done
}

func (s *server) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// peak returns the largest resident memory of the process so far, in bytes.
func (s *server) peak(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibi, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 64)
			if err != nil {
				t.Fatal(err)
			}
			return kibi * 1024
		}
	}
	t.Fatal("there is no VmHWM")
	return 0
}

// clockTick is the unit of the times in /proc: Linux has 100 a second on all machines.
const clockTick = 100

// cpu returns the processor time of the process so far, in seconds.
func (s *server) cpu(t *testing.T) float64 {
	t.Helper()
	seconds, err := cpuOf(s.process.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// cpuOf returns the processor time of a process so far, in seconds.
func cpuOf(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the processor time of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	total := 0.0
	for _, i := range []int{11, 12} { // utime and stime, after the name in parentheses
		ticks, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read the processor time of process %d: %w", pid, err)
		}
		total += ticks
	}
	return total / clockTick, nil
}

// askPatience bounds a request, a profile of the processor included.
const askPatience = 2 * time.Minute

var asking = &http.Client{Timeout: askPatience, Transport: &http.Transport{DisableKeepAlives: true}}

// get returns the body of an answer with status 200.
func get(t *testing.T, address, path string) (io.ReadCloser, error) {
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

// read returns the whole body of an answer.
func read(t *testing.T, address, path string) ([]byte, error) {
	t.Helper()
	body, err := get(t, address, path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// summary has the used fields of a trace in the API's list.
type summary struct {
	TraceID string    `json:"traceId"`
	Open    bool      `json:"open"`
	Start   time.Time `json:"start"`
	Outcome string    `json:"outcome"`
	Spans   int       `json:"spans"`
}

// traces returns the traces of a query.
func (s *server) traces(t *testing.T, query string) ([]summary, error) {
	t.Helper()
	body, err := read(t, s.api, "/api/v1/traces?"+query)
	if err != nil {
		return nil, err
	}
	var page struct {
		Traces []summary `json:"traces"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("cannot read the answer to %s: %w", query, err)
	}
	return page.Traces, nil
}

// profile keeps a profile, if anything is kept.
func (s *server) profile(t *testing.T, address, kind, name string) {
	t.Helper()
	if s.keep == "" {
		return
	}
	data, err := read(t, address, "/debug/pprof/"+kind)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.keep, name), data, 0o600)
	}
	if err != nil {
		t.Logf("cannot keep profile %s: %v", name, err)
	}
}
