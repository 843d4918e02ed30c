// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// The durations of Leases in these tests: long enough for a machine that does
// other things, too.
const leases = "leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 400ms"

// member says which server to start.
type member struct {
	// mode and group are replicas.mode and replicas.name.
	mode, group string
	// name is its identity, and what it says to the backend that it is.
	name    string
	backend *harness.Collector
	// kubeconfig is the administrator's if empty.
	kubeconfig string
	// identity is name if empty.
	identity string
}

// server is a lifeline server under way.
type server struct {
	*harness.Server
	member
}

// start starts a server, and waits until it listens.
func start(t *testing.T, m member) *server {
	t.Helper()
	config := fmt.Sprintf(
		"replicas: {mode: %s, name: %s, namespace: default, identity: %s, %s}\n",
		m.mode,
		m.group,
		cmp.Or(m.identity, m.name),
		leases,
	)
	s := &server{member: m, Server: bench.Server(t, harness.ServerOptions{
		Config:     config,
		OTLP:       "http://" + m.backend.Endpoint,
		Kubeconfig: m.kubeconfig,
		Env: []string{
			"OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
			"OTEL_EXPORTER_OTLP_HEADERS=" + harness.SenderHeader + "=" + m.name,
		},
	})}
	s.begin(t)
	return s
}

// begin starts it, again on the same data, and waits until it listens.
func (s *server) begin(t *testing.T) {
	t.Helper()
	s.Begin(t)
	harness.Eventually(t, s.name+" listening", func() bool { return s.TelemetryAddress() != "" })
}

// awaitSaid waits until it has said text, in whatever line.
func (s *server) awaitSaid(t *testing.T, text string) {
	t.Helper()
	harness.Eventually(t, s.name+" saying "+text, func() bool { return strings.Contains(s.Log(), text) })
}

// metric is the value of a metric without labels.
func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	value, ok := s.Metrics(t)[name]
	if !ok {
		t.Fatalf("%s has no metric %s", s.name, name)
	}
	return value
}

// quiet is for how long no span must have come for all to have come: the
// Events of controllers that have much to do are late.
const quiet = 6 * time.Second

// calm waits until nothing is open, everything was sent that may be, and nothing
// comes any more.
func calm(t *testing.T, servers ...*server) {
	t.Helper()
	n, since := 0, time.Now()
	harness.Eventually(t, "no more spans", func() bool {
		now := 0
		for _, s := range servers {
			now += len(s.backend.Spans(func(*harness.Span) bool { return true }))
		}
		if now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) > quiet
	})
	for _, s := range servers {
		harness.Eventually(t, s.name+" having nothing left to do", func() bool {
			return s.metric(t, "lifeline_open_traces") == 0 &&
				(s.metric(t, "lifeline_outbox_spans") == 0 || s.metric(t, "lifeline_leader") == 0)
		})
	}
}

// eventually waits until a metric has the value.
func eventually(t *testing.T, s *server, name string, value float64) {
	t.Helper()
	harness.Eventually(t, s.name+" having "+name, func() bool { return s.metric(t, name) == value })
}
