// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// typical is a review of a typical size for a Pod's creation: 6 kB.
func typical() []byte {
	var env []string
	for i := range 40 {
		env = append(env, fmt.Sprintf(`{"name": "SETTING_NUMBER_%d", "value": "a value of an ordinary length, such `+
			`as a URL has"}`, i))
	}
	containers := `"containers": [{"name": "app", "image": "registry.example/app:1", "env": [` +
		strings.Join(env, ",") + `]}]`
	return []byte(strings.Replace(reviewOf("system:serviceaccount:demo:operator", `"system:serviceaccounts"`, "open",
		`, "labels": {"app": "web"}`), `"containers": []`, containers, 1))
}

// BenchmarkAdmission measures a Pod's creation over TLS on kept connections, at the highest rate.
// It includes the API server's side.
func BenchmarkAdmission(b *testing.B) {
	s := newServed(b)
	client, url, text := s.client(b), "https://"+s.address+"/admission", typical()
	if !json.Valid(text) {
		b.Fatal("the review is no JSON")
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := ask(client, url, text); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reviews/s")
}

// BenchmarkAdmissionPaced sends 1,000 reviews a second (pace) from another process, as API servers
// do. It reports the duration here, from the header to the written response, and for the client,
// from its scheduled time.
func BenchmarkAdmissionPaced(b *testing.B) {
	s := newServed(b)
	handled := &durations{Histogram: s.metrics.seconds, paused: true}
	s.metrics.seconds = handled
	asked := new(durations)
	for b.Loop() {
		begin := s.pacing(b, typical())
		handled.pause(false) // the handshakes
		asked.all = append(asked.all, begin()...)
		handled.pause(true)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(handled.at(b, .5), "handler-p50-ms")
	b.ReportMetric(handled.at(b, .99), "handler-p99-ms")
	b.ReportMetric(handled.at(b, .999), "handler-p99.9-ms")
	b.ReportMetric(asked.at(b, .5), "client-p50-ms")
	b.ReportMetric(asked.at(b, .99), "client-p99-ms")
}

// durations records observed values, unless it is paused.
type durations struct {
	prometheus.Histogram // also observes

	mu     sync.Mutex
	paused bool
	all    []time.Duration
}

// Observe implements prometheus.Observer; the unit is seconds.
func (d *durations) Observe(seconds float64) {
	d.Histogram.Observe(seconds)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.paused {
		d.all = append(d.all, time.Duration(seconds*float64(time.Second)))
	}
}

func (d *durations) pause(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = on
}

// at returns a quantile, in milliseconds.
func (d *durations) at(b *testing.B, share float64) float64 {
	b.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 {
		b.Fatal("nothing was observed")
	}
	slices.Sort(d.all)
	return float64(d.all[int(share*float64(len(d.all)-1))]) / float64(time.Millisecond)
}
