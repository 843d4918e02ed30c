// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/operator/transport"
)

func ExampleWrap() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, "traceparent:", r.Header.Get("traceparent"))
		fmt.Println(r.Method, "baggage:", r.Header.Get("baggage"))
	}))
	defer server.Close()

	cfg := &rest.Config{Host: server.URL}
	cfg.Wrap(transport.Wrap) // the only change
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()

	// A tracer's Start returns such a context.
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{0x0a, 0xf7, 15: 0x9c},
		SpanID:     trace.SpanID{0xb7, 7: 0x31},
		TraceFlags: trace.FlagsSampled,
	}))
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		server.URL+"/api/v1/namespaces/default/configmaps",
		http.NoBody,
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	response, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = response.Body.Close()
	// Output:
	// POST traceparent: 00-0af7000000000000000000000000009c-b700000000000031-01
	// POST baggage: lifeline=00-0af7000000000000000000000000009c-b700000000000031-01
}
