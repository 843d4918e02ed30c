// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"encoding/pem"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/kube-lifeline/lifeline/operator/tracing"
)

func TestTLSIsWhatTheVariablesSay(t *testing.T) {
	cases := map[string]struct {
		reason     string
		endpoint   bool // the endpoint is in the configuration
		scheme     string
		trusted    bool // the variable for the certificate is set
		plain      bool // the receiver speaks plain text
		delivering bool
	}{
		"https":                 {reason: "https means TLS", scheme: "https://", trusted: true, delivering: true},
		"https, plain receiver": {reason: "https never falls back to plain text", scheme: "https://", plain: true},
		"endpoint and certificate": {
			reason:     "a certificate means TLS",
			endpoint:   true,
			trusted:    true,
			delivering: true,
		},
		"endpoint": {
			reason:     "without a certificate, plain text like Kubernetes",
			endpoint:   true,
			plain:      true,
			delivering: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			web := httptest.NewTLSServer(nil)
			web.Close()
			var options []grpc.ServerOption
			if !tc.plain {
				options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
			}
			r := newReceiver(t, options...)
			if tc.trusted {
				text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
				t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file(t, string(text)))
			}
			c := rate(r, all)
			if !tc.endpoint {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", tc.scheme+*r.endpoint())
				c.Endpoint = nil
			}
			if !tc.delivering {
				t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "500") // milliseconds
			}
			tr := start(t, tracing.Options{Enabled: true, Configuration: c})
			_, span := tr.Tracer("test").Start(t.Context(), "root")
			span.End()
			shutdown(t, tr)
			if got := len(r.names()) == 1; got != tc.delivering {
				t.Errorf("%s: delivered = %v", tc.reason, got)
			}
			if got := tr.Dropped() == 0; got != tc.delivering {
				t.Errorf("%s: %d spans dropped", tc.reason, tr.Dropped())
			}
		})
	}
}
