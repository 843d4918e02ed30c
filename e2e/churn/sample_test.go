// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/serving"
)

// convergence is the histogram of how long a finished trace takes into the
// store.
const convergence = "lifeline_convergence_to_stored_seconds"

// A sample is what is known at one moment.
type sample struct {
	At       time.Time          `json:"at"`
	Rollouts int                `json:"rollouts"`
	Pods     int                `json:"pods"`
	Lifeline map[string]float64 `json:"lifeline"`
	// Requests are those that the API server has answered, Own those of
	// lifeline among them, by the audit log.
	Requests float64 `json:"requests"`
	Own      float64 `json:"own"`

	stored harness.Histogram
}

// take takes a sample, and keeps it if anything is kept.
func take(t *testing.T, s *serving.Process, w *workload) sample {
	t.Helper()
	s.Alive(t)
	out := sample{At: time.Now(), Rollouts: w.rollouts, Pods: w.pods}
	body, err := s.Read(t, s.Telemetry, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	m, err := harness.ReadMetrics(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("cannot read lifeline's metrics: %v", err)
	}
	out.Lifeline, out.stored = m.Sums, m.Histograms[convergence]
	text, err := w.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatalf("cannot read the API server's metrics: %v", err)
	}
	if m, err = harness.ReadMetrics(bytes.NewReader(text)); err != nil {
		t.Fatalf("cannot read the API server's metrics: %v", err)
	}
	out.Requests = m.Sums["apiserver_request_total"]
	log, err := os.ReadFile(bench.AuditLog())
	if err != nil {
		t.Fatalf("cannot read the audit log: %v", err)
	}
	out.Own = float64(bytes.Count(log, []byte{'\n'}))
	out.keep(t)
	return out
}

// keep appends what is lifeline's and its process's own to a file.
func (s sample) keep(t *testing.T) {
	t.Helper()
	if size.keep == "" {
		return
	}
	kept := s
	kept.Lifeline = map[string]float64{}
	for name, value := range s.Lifeline {
		if !strings.HasSuffix(name, "_bucket") {
			kept.Lifeline[name] = value
		}
	}
	line, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(size.keep, "samples.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}
