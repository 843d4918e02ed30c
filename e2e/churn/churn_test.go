// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/serving"
)

// TestChurn replaces the Pods of the cluster, one Deployment after the other.
// What lifeline takes stays level, and in the end the last rollout of every
// Deployment is in the store and at the backend, whole.
func TestChurn(t *testing.T) {
	harness.Slow(t)
	dir := size.keep
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	collector, err := harness.NewHTTPCollector()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(collector.Stop)
	b := newBackend(collector)
	w := newWorkload(t)
	s := serve(t, collector.Endpoint, dir)

	samples := churn(t, s, w, b)
	harness.Eventually(t, "nothing being open, nor waiting to be sent", func() bool {
		now := take(t, s, w).Lifeline
		return now["lifeline_open_traces"] == 0 && now["lifeline_outbox_spans"] == 0 &&
			now["lifeline_source_lag_seconds"] == 0
	})
	samples = append(samples, take(t, s, w))
	profile(t, s, "heap?gc=1", "heap-end.pprof")
	profile(t, s, "goroutine", "goroutine-end.pprof")
	b.count()
	t.Logf("\n%s", report(samples, w, b))
	check(t, samples)
	complete(t, s, w, b)
	s.Stop(t)
}

// churn replaces Pods and takes samples until the time is over and what was
// begun is complete. The first sample is of the beginning.
func churn(t *testing.T, s *serving.Process, w *workload, b *backend) []sample {
	t.Helper()
	samples := []sample{take(t, s, w)}
	begin := samples[0].At
	sampling := time.NewTicker(size.sample)
	defer sampling.Stop()
	halfway := false
	w.meanwhile = func() {
		select {
		case <-sampling.C:
		default:
			return
		}
		b.count()
		samples = append(samples, take(t, s, w))
		t.Log(progress(samples[0], samples[len(samples)-1]))
		if !halfway && time.Since(begin) > size.length/2 {
			halfway = true
			profile(t, s, "heap?gc=1", "heap-middle.pprof")
			profile(t, s, "profile?seconds=10", "cpu-middle.pprof")
		}
	}
	defer func() { w.meanwhile = nil }()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for next := begin; time.Since(begin) < size.length; {
		if !time.Now().Before(next) {
			next = time.Now().Add(size.every)
			w.roll(t)
		}
		<-poll.C
		w.meanwhile()
	}
	return samples
}

// complete holds that of each Deployment the last rollout was stored and sent.
func complete(t *testing.T, s *serving.Process, w *workload, b *backend) {
	t.Helper()
	for i, n := range w.names {
		if w.latest[i].IsZero() {
			continue // not its turn yet
		}
		query := url.Values{
			"kind":      {"Deployment"},
			"group":     {"apps"},
			"namespace": {n.Namespace},
			"name":      {n.Name},
			"limit":     {"1"},
		}
		found, err := s.Traces(t, query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(found) == 0:
			t.Errorf("no trace of %s is stored", n)
		case found[0].Open, found[0].Start.Before(w.latest[i].Add(-clockStep)), found[0].Spans <= size.each():
			t.Errorf("the last rollout of %s began at %s and is not stored as a whole: %+v", n, w.latest[i], found[0])
		case b.spans[found[0].TraceID] != found[0].Spans:
			t.Errorf(
				"the backend has %d spans of trace %s of %s, want %d",
				b.spans[found[0].TraceID],
				found[0].TraceID,
				n,
				found[0].Spans,
			)
		}
	}
}

// clockStep is how exactly managedFields tell the time of a write.
const clockStep = time.Second
