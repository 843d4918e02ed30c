// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/serving"
)

// server is a `lifeline serve` that can be ended and started again. Each start is a new process on the
// same data directory.
type server struct {
	*serving.Process
	binary, kubeconfig, config, data string
	// keep is the directory for logs and profiles; empty for none.
	keep   string
	starts int
}

func newServer(t *testing.T, kubeconfig, keep string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{
		binary: filepath.Join(dir, "lifeline"), kubeconfig: kubeconfig, data: filepath.Join(dir, "data"), keep: keep,
	}
	if err := harness.Build(t.Context(), s.binary); err != nil {
		t.Fatal(err)
	}
	s.config = harness.File(t, serving.Config)
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
	began := time.Now()
	s.Process = serving.Start(t, s.binary, filepath.Join(dir, fmt.Sprintf("lifeline-%d.log", s.starts)),
		append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "LIFELINE_SERVER=none"),
		"--config", s.config, "--data-dir", s.data)
	s.Keep = s.keep
	var profiled sync.WaitGroup
	s.Await(t, readyPatience, func() {
		profiled.Go(func() { s.profile(t, "profile?seconds=20", fmt.Sprintf("cpu-start-%d.pprof", s.starts)) })
	})
	out := started{ready: time.Since(began), cpu: s.cpu(t), peak: s.peak(t)}
	profiled.Wait()
	return out
}

// peak returns the largest resident memory of the process so far, in bytes.
func (s *server) peak(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
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

// cpu returns the processor time of the process so far, in seconds.
func (s *server) cpu(t *testing.T) float64 {
	t.Helper()
	used, err := harness.ProcessorTime(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	return used.Seconds()
}

// profile keeps a profile, if anything is kept. A busy server may be late with one.
func (s *server) profile(t *testing.T, kind, name string) {
	t.Helper()
	if err := s.Profile(t, kind, name); err != nil {
		t.Log(err)
	}
}
