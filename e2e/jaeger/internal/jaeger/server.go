// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Storage is the configuration of Jaeger's storage.
type Storage string

// Memory and Badger are the storages inside Jaeger's process.
const (
	Memory Storage = "memory: {max_traces: 100000}"
	Badger Storage = "badger: {ephemeral: true, ttl: {spans: 48h}}"
)

// Server is a running Jaeger.
type Server struct {
	Storage Storage
	// GRPC and HTTP are the addresses of its OTLP receivers, as host:port.
	GRPC, HTTP string

	query string
}

// At returns another program with Jaeger's query API, for the questions to it.
func At(address string) *Server { return &Server{query: address} }

// configuration is Jaeger's configuration for one process with an OTLP receiver. The addresses and
// the storage are filled in.
const configuration = `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {receivers: [otlp], processors: [batch], exporters: [jaeger_storage_exporter]}
  telemetry: {metrics: {level: none}}
extensions:
  jaeger_query: {storage: {traces: here}, enable_tracing: false, http: {endpoint: %q}, grpc: {endpoint: %q}}
  jaeger_storage: {backends: {here: {%s}}}
receivers:
  otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}
processors:
  batch:
exporters:
  jaeger_storage_exporter: {trace_storage: here}
`

// Run runs the Jaeger in dir until the test ends.
func Run(t testing.TB, dir string, storage Storage) *Server {
	t.Helper()
	s := &Server{Storage: storage, GRPC: harness.Free(t), HTTP: harness.Free(t), query: harness.Free(t)}
	file := filepath.Join(t.TempDir(), "jaeger.yaml")
	text := fmt.Sprintf(configuration, s.query, harness.Free(t), storage, s.GRPC, s.HTTP)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := program.Run(t, program.Call{Path: filepath.Join(dir, binary), Args: []string{"--config", file}})
	harness.Eventually(t, "a response from Jaeger", func() bool {
		select {
		case <-p.Ended():
			t.Fatalf("Jaeger ended:\n%s", p.LastWords())
		default:
		}
		code, _, err := s.get(t, "/api/services")
		return err == nil && code == http.StatusOK
	})
	return s
}
