// SPDX-License-Identifier: Apache-2.0

package admitter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// typical is a review of about the size that a Pod's creation has: 6 kB.
func typical() []byte {
	var env []string
	for i := range 40 {
		env = append(env, fmt.Sprintf(`{"name": "SETTING_NUMBER_%d", "value": "a value of an ordinary length, such as a URL has"}`, i))
	}
	containers := `"containers": [{"name": "app", "image": "registry.example/app:1", "env": [` + strings.Join(env, ",") + `]}]`
	return []byte(strings.Replace(review("system:serviceaccount:demo:operator", `"system:serviceaccounts"`, "open", `, "labels": {"app": "web"}`), `"containers": []`, containers, 1))
}

// ask sends one review, as an API server does.
func ask(client *http.Client, url string, text []byte) error {
	resp, err := client.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"patch"`))) {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

// BenchmarkAdmission is a Pod's creation by TLS on connections that are kept, as
// often as the machine can; it runs the API server's side, too.
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

// BenchmarkAdmissionPaced sends 1,000 reviews a second, each when its time has come
// whether or not those before it are answered, as long as no more than an API
// server has under way (--max-mutating-requests-inflight), and tells how long the
// answers took from the time on when they were due.
func BenchmarkAdmissionPaced(b *testing.B) {
	const rate, seconds, inFlight = 1000, 5, 200
	s := newServed(b)
	client, url, text := s.client(b), "https://"+s.address+"/admission", typical()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = inFlight
	var connecting sync.WaitGroup
	for range inFlight { // so that no handshakes are measured
		connecting.Go(func() {
			if err := ask(client, url, text); err != nil {
				b.Error(err)
			}
		})
	}
	connecting.Wait()
	var all []time.Duration
	turn := make(chan struct{}, inFlight)
	for b.Loop() {
		took := make([]time.Duration, rate*seconds)
		var asking sync.WaitGroup
		began := time.Now()
		for i := range took {
			due := began.Add(time.Duration(i) * time.Second / rate)
			time.Sleep(time.Until(due))
			turn <- struct{}{}
			asking.Go(func() {
				defer func() { <-turn }()
				if err := ask(client, url, text); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(due)
			})
		}
		asking.Wait()
		all = append(all, took...)
	}
	slices.Sort(all)
	at := func(share float64) float64 {
		return float64(all[int(share*float64(len(all)-1))]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	b.ReportMetric(0, "ns/op")
	for under, n := range s.handled(b) { // the handler alone: the clients and TLS left out
		b.ReportMetric(100*n, "%handled-in-"+under+"s")
	}
}

// handled is the share of the calls that were handled within some times, in seconds,
// as the metrics say.
func (s *served) handled(b *testing.B) map[string]float64 {
	b.Helper()
	out := httptest.NewRecorder()
	telemetry.Handler(telemetry.HandlerOptions{Metrics: s.opts.Metrics, Health: new(telemetry.Health)}).ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	within, all := map[string]float64{"0.0005": 0, "0.001": 0, "0.005": 0}, 0.0
	for line := range strings.Lines(out.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		for under := range within {
			if name == `lifeline_admission_seconds_bucket{le="`+under+`"}` {
				within[under] = n
			}
		}
		if name == "lifeline_admission_seconds_count" {
			all = n
		}
	}
	if all == 0 {
		b.Fatalf("the metrics tell of no call:\n%s", out.Body)
	}
	for under := range within {
		within[under] /= all
	}
	return within
}
