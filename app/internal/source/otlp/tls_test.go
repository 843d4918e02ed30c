// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/tls"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// TestMutualTLS: both transports accept the same clients.
func TestMutualTLS(t *testing.T) {
	server, clients, stranger := httpservetest.New(t), httpservetest.New(t), httpservetest.New(t)
	endpoint := httpserve.Endpoint{Address: "127.0.0.1:0", TLS: server.Files(t, clients)}
	sink := &basket{}
	r, _ := started(t, Options{Sink: sink, GRPC: endpoint, HTTP: endpoint})

	export(t, exporter(t)(otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpoint(r.GRPCAddr().String()),
		otlptracegrpc.WithTLSCredentials(credentials.NewTLS(clients.Client(t, server))))), "over gRPC")
	export(t, exporter(t)(otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(r.HTTPAddr().String()),
		otlptracehttp.WithTLSClientConfig(clients.Client(t, server)))), "over HTTP")
	if sink.one("over gRPC") == nil || sink.one("over HTTP") == nil {
		t.Error("a client with a valid certificate is refused")
	}

	for name, config := range map[string]*tls.Config{
		"another authority's": stranger.Client(t, server),
		"none":                server.Trusting(),
	} {
		_, err := dial(t, r, grpc.WithTransportCredentials(credentials.NewTLS(config))).Export(
			t.Context(),
			one(func(*tracepb.Span) {}),
		)
		if err == nil {
			t.Errorf("gRPC: a client is accepted with certificate: %s", name)
		}
		c := client(t)
		c.Transport.(*http.Transport).TLSClientConfig = config
		if resp, err := c.Get("https://" + r.HTTPAddr().String() + DefaultPath); err == nil {
			resp.Body.Close()
			t.Errorf("HTTP: a client is accepted with certificate: %s", name)
		}
	}
	if _, err := dial(t, r).Export(t.Context(), one(func(*tracepb.Span) {})); err == nil {
		t.Error("plaintext is accepted")
	}
	if got := r.Stats(); got.Accepted != 4 {
		t.Errorf("got %+v", got)
	}
}

// TestHTTP2: over TLS a client may use HTTP/1.1 or HTTP/2.
func TestHTTP2(t *testing.T) {
	server := httpservetest.New(t)
	r, _ := started(t, Options{HTTP: httpserve.Endpoint{Address: "127.0.0.1:0", TLS: server.Files(t, nil)}})
	for want, newer := range map[string]bool{"HTTP/2.0": true, "HTTP/1.1": false} {
		c := client(t)
		transport := c.Transport.(*http.Transport)
		transport.TLSClientConfig, transport.ForceAttemptHTTP2 = server.Trusting(), newer
		resp, err := c.Get("https://" + r.HTTPAddr().String() + DefaultPath)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.Proto != want || resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("got %s over %s, want it over %s", resp.Status, resp.Proto, want)
		}
	}
}
