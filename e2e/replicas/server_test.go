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

// leases has the durations of Leases in these tests, long enough for a busy machine.
const leases = "leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 400ms"

// member describes a server to start.
type member struct {
	// mode and group are replicas.mode and replicas.name.
	mode, group string
	// name is its identity, and its name as a sender at the backend.
	name    string
	backend *harness.Collector
	// kubeconfig is the file to use; empty means the administrator's.
	kubeconfig string
	// identity is replicas.identity; empty means name.
	identity string
}

// server is a running lifeline server.
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
	s.Begin(t)
	harness.Eventually(t, "the listener of "+s.name, func() bool { return s.TelemetryAddress() != "" })
	return s
}

// awaitSaid waits until the server's log contains text.
func (s *server) awaitSaid(t *testing.T, text string) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%q in the log of %s", text, s.name), func() bool {
		return strings.Contains(s.Log(), text)
	})
}

// metric returns the value of a metric without labels.
func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	value, ok := s.Metrics(t)[name]
	if !ok {
		t.Fatalf("%s has no metric %s", s.name, name)
	}
	return value
}

// quiet is the time without new spans after which all have arrived. Events of busy controllers are
// late.
const quiet = 6 * time.Second

// calm waits until no more spans arrive, no trace is open, and the leader's outbox is empty.
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
		harness.Eventually(t, "the end of all work of "+s.name, func() bool {
			return s.metric(t, "lifeline_open_traces") == 0 &&
				(s.metric(t, "lifeline_outbox_spans") == 0 || s.metric(t, "lifeline_leader") == 0)
		})
	}
}
