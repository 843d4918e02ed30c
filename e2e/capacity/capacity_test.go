// SPDX-License-Identifier: Apache-2.0

// Package capacity runs the real `lifeline serve` at the size of the largest Kubernetes cluster: 5,000
// Nodes and 150,000 Pods, of which 100 a second are replaced. A generated API server takes the place of
// the cluster. The test asserts memory, processor time and completeness; it reports times, which depend
// on other work of the machine. `-short` runs a small size.
package capacity

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/serving"
	"github.com/kube-lifeline/lifeline/e2e/internal/syntheticapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mebi = 1 << 20

// The bounds of the full size. The aim of the processor is one core.
const (
	maxMemory = 1.5 * 1024 * mebi
	maxCores  = 1.0
	// maxQuestionCores is for the questions that a server answers at a time.
	maxQuestionCores = 2.0
	// smallMemory is the bound of the small size.
	smallMemory = 200 * mebi
)

// settle is the default of engine.settle: a trace is finished when nothing has happened for this time.
const settle = 2 * time.Second

// lateFor is the length of the churn before a kill, and of that before the next start.
const lateFor = 5 * time.Second

func TestCapacity(t *testing.T) {
	size := full
	if testing.Short() {
		size = small
	}
	size, err := parseScale(size, os.Getenv(scaleVariable))
	if err != nil {
		t.Fatal(err)
	}
	if size.keep != "" {
		if err := os.MkdirAll(size.keep, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cluster, err := syntheticapi.New(size.cluster())
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, kubeconfig, size.keep)
	r := &report{size: size}

	r.cold = s.start(t)
	time.Sleep(size.quiet)
	r.idle = s.metrics(t)
	r.problems = s.problems(t, size)
	s.profile(t, "heap?gc=1", "heap-idle.pprof")

	r.plain = s.churn(t, cluster, size)
	r.problemsAfter = s.problems(t, size)
	s.profile(t, "heap?gc=1", "heap-end.pprof")
	complete(t, s, r.plain.done.Rollouts)
	ask := startAsking(t, s)
	defer ask.stop() // also if the churn ends the test
	r.asked = s.churn(t, cluster, size)
	ask.stop()
	r.questions = ask.counts
	complete(t, s, r.asked.done.Rollouts)
	r.peak = s.peak(t)

	r.stop = s.Stop(t)
	r.store = used(t, s.data)
	r.restart = s.start(t)
	more := cluster.Churn(t.Context(), float64(size.rate), lateFor, nil)
	s.Kill(t)
	more2 := cluster.Churn(t.Context(), float64(size.rate), lateFor, nil)
	r.killed = s.start(t)
	s.finish(t)
	complete(t, s, more.Rollouts)
	complete(t, s, more2.Rollouts)
	r.stopAgain = s.Stop(t)

	t.Logf("\n%s", r)
	r.check(t)
}

// churn replaces Pods and measures meanwhile.
func (s *server) churn(t *testing.T, cluster *syntheticapi.Cluster, size scale) *load {
	t.Helper()
	r := &load{before: s.metrics(t)}
	cpu, own := s.cpu(t), ownCPU()
	began := time.Now()
	var measured sync.WaitGroup
	var mu sync.Mutex
	n := 0
	if s.keep != "" {
		measured.Go(func() {
			time.Sleep(size.length / 2)
			s.profile(t, "profile?seconds=20", "cpu-churn.pprof")
		})
	}
	done := cluster.Churn(t.Context(), float64(size.rate), size.length, func(ended syntheticapi.Rollout) {
		if n++; n%sampled != 1 {
			return
		}
		measured.Go(func() {
			if lag, ok := s.finished(t, ended); ok {
				mu.Lock()
				defer mu.Unlock()
				r.lags = append(r.lags, lag)
			}
		})
	})
	r.took = time.Since(began)
	r.done, r.testCPU = done, ownCPU()-own
	observed := func() int {
		return int(s.metrics(t).Sums["lifeline_observations_total"] - r.before.Sums["lifeline_observations_total"])
	}
	harness.Within(t, readyPatience, "an observation of each change", func() bool {
		s.Alive(t)
		return observed() >= done.Changes
	})
	s.finish(t)
	r.cpu = s.cpu(t) - cpu
	measured.Wait()
	if n := observed(); n != done.Changes {
		t.Errorf("%d observations of %d changes", n, done.Changes)
	}
	r.after = s.metrics(t)
	slices.Sort(r.lags)
	return r
}

// sampled is the share of the rollouts whose lag is measured: one of so many.
const sampled = 3

// finish waits until no trace is open.
func (s *server) finish(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "no trace being open", func() bool {
		s.Alive(t)
		m := s.metrics(t).Sums
		return m["lifeline_open_traces"] == 0 && m["lifeline_source_lag_seconds"] == 0
	})
}

// traceOf returns the finished trace of a rollout; ok is false without one.
func (s *server) traceOf(t *testing.T, r syntheticapi.Rollout) (found serving.Summary, ok bool) {
	t.Helper()
	query := url.Values{
		"kind": {"Deployment"}, "group": {"apps"}, "namespace": {r.Namespace}, "name": {r.Name}, "limit": {"1"},
	}
	all, err := s.Traces(t, query.Encode())
	if err != nil || len(all) == 0 || all[0].Open || all[0].Start.Before(r.Began.Add(-time.Second)) {
		return serving.Summary{}, false
	}
	return all[0], true
}

// finished waits for the finished trace of a rollout. It returns the time since the last write without
// the wait for more.
func (s *server) finished(t *testing.T, r syntheticapi.Rollout) (time.Duration, bool) {
	t.Helper()
	time.Sleep(time.Until(r.Ended.Add(settle - 100*time.Millisecond)))
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for time.Since(r.Ended) < 2*time.Minute {
		if _, ok := s.traceOf(t, r); ok {
			return time.Since(r.Ended) - settle, true
		}
		<-tick.C
	}
	return 0, false
}

// explain prints the traces of a rollout without a finished one.
func (s *server) explain(t *testing.T, r syntheticapi.Rollout) {
	t.Helper()
	text, err := s.Read(t, s.API, "/api/v1/traces?limit=20&"+url.Values{"name": {r.Name}}.Encode())
	t.Logf(
		"%s/%s was rolled out from %s to %s; its traces are %s, %v",
		r.Namespace,
		r.Name,
		r.Began,
		r.Ended,
		text,
		err,
	)
}

// complete checks that the trace of each rollout has all new and all old Pods.
func complete(t *testing.T, s *server, rollouts []syntheticapi.Rollout) {
	t.Helper()
	if len(rollouts) == 0 {
		t.Error("there was no rollout")
	}
	for _, r := range rollouts {
		var found serving.Summary
		ok := false
		defer func() {
			if !ok {
				s.explain(t, r)
			}
		}()
		harness.Eventually(t, "a finished trace of "+r.Namespace+"/"+r.Name, func() bool {
			s.Alive(t)
			found, ok = s.traceOf(t, r)
			return ok
		})
		text, err := s.Read(t, s.API, "/api/v1/traces/"+found.TraceID)
		if err != nil {
			t.Error(err)
			continue
		}
		var missing []string
		for _, pod := range slices.Concat(r.Pods, r.Old) {
			if !bytes.Contains(text, []byte(pod)) {
				missing = append(missing, pod)
			}
		}
		if len(missing) > 0 || found.Outcome == "" || strings.Contains(found.Outcome, "fail") {
			t.Errorf("the trace %+v of %s/%s lacks %d of %d Pods: %q", found, r.Namespace, r.Name,
				len(missing), len(r.Pods)+len(r.Old), missing)
		}
	}
}

// metrics reads the metrics of the process.
func (s *server) metrics(t *testing.T) harness.Metrics {
	t.Helper()
	body, err := s.Read(t, s.Telemetry, "/metrics")
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Text(t))
	}
	m, err := harness.ReadMetrics(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// used returns the bytes of the files in a directory.
func used(t *testing.T, dir string) float64 {
	t.Helper()
	total := 0.0
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += float64(info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("cannot measure %s: %w", dir, err))
	}
	return total
}
