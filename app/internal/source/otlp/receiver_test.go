// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestValidate(t *testing.T) {
	sink := &basket{}
	cases := map[string]struct {
		reason string
		opts   Options
		err    string // empty for none
	}{
		"defaults": {
			reason: "loopback may be plaintext",
			opts: Options{
				Sink: sink,
				GRPC: httpserve.Endpoint{Address: DefaultGRPCAddress},
				HTTP: httpserve.Endpoint{Address: DefaultHTTPAddress},
			},
		},
		"no sink": {
			reason: "spans must go somewhere",
			opts:   Options{GRPC: httpserve.Endpoint{Address: "localhost:0"}},
			err:    "Sink is nil",
		},
		"no address": {
			reason: "it would do nothing",
			opts:   Options{Sink: sink},
			err:    "neither GRPC nor HTTP has an address",
		},
		"one": {
			reason: "either is enough",
			opts:   Options{Sink: sink, HTTP: httpserve.Endpoint{Address: "localhost:0"}},
		},
		"gRPC is open": {
			reason: "plaintext off loopback must be explicit",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "0.0.0.0:4317"}},
			err:    "cannot listen for OTLP over gRPC on \"0.0.0.0:4317\" without TLS: it is not loopback",
		},
		"HTTP is open": {
			reason: "plaintext off loopback must be explicit",
			opts:   Options{Sink: sink, HTTP: httpserve.Endpoint{Address: ":4318"}},
			err:    "cannot listen for OTLP over HTTP on \":4318\" without TLS",
		},
		"path": {
			reason: "it would match nothing",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "localhost:1"}, Path: "v1/traces"},
			err:    "begins with a slash",
		},
		"negative bytes": {
			reason: "a slip",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "localhost:1"}, MaxBytes: -1},
			err:    "MaxBytes -1",
		},
		"no end of bytes": {
			reason: "memory is bounded",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "localhost:1"}, MaxBytes: 1 << 30},
			err:    "MaxBytes 1073741824",
		},
		"requests": {
			reason: "a slip",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "localhost:1"}, MaxRequests: -1},
			err:    "MaxRequests -1",
		},
		"timeout": {
			reason: "a slip",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "localhost:1"}, Timeout: time.Hour},
			err:    "Timeout 1h0m0s",
		},
		"retry": {
			reason: "a slip",
			opts:   Options{Sink: sink, GRPC: httpserve.Endpoint{Address: "localhost:1"}, RetryAfter: -1},
			err:    "RetryAfter -1ns",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			switch err := tc.opts.Validate(); {
			case tc.err == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("got %v, want %q", err, tc.err)
			}
		})
	}
}

// TestAddressInUse: the error is one clear line, and the other address is released.
func TestAddressInUse(t *testing.T) {
	first, _ := started(t, Options{})
	_, err := New(t.Context(), Options{
		Sink: &basket{},
		GRPC: httpserve.Endpoint{Address: "127.0.0.1:0"},
		HTTP: httpserve.Endpoint{Address: first.HTTPAddr().String()},
	})
	if err == nil ||
		!strings.HasPrefix(
			err.Error(),
			"cannot listen for OTLP over HTTP (choose a free address, or stop the process that uses it): "+
				"listen tcp "+first.HTTPAddr().String(),
		) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	_, err = New(t.Context(), Options{Sink: &basket{}, GRPC: httpserve.Endpoint{Address: first.GRPCAddr().String()}})
	if err == nil || !strings.Contains(err.Error(), "over gRPC") {
		t.Errorf("got %v", err)
	}
}

// TestOneOnly: an endpoint without an address is not served.
func TestOneOnly(t *testing.T) {
	r, _ := started(t, Options{HTTP: httpserve.Endpoint{Address: "127.0.0.1:0"}})
	if r.GRPCAddr() != nil || r.HTTPAddr() == nil {
		t.Errorf("listening on %v and %v", r.GRPCAddr(), r.HTTPAddr())
	}
	idle, err := New(t.Context(), Options{Sink: &basket{}, GRPC: httpserve.Endpoint{Address: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// gate is a Sink that signals each call and then waits until it is opened.
type gate struct {
	basket
	called, open chan struct{}
}

func newGate() *gate { return &gate{called: make(chan struct{}, 16), open: make(chan struct{})} }

func (g *gate) Accept(ctx context.Context, spans []*span.Span) error {
	g.called <- struct{}{}
	select {
	case <-g.open:
		return g.basket.Accept(ctx, spans)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestShutdown: requests in progress finish and get a response.
func TestShutdown(t *testing.T) {
	sink := newGate()
	r, stop := started(t, Options{Sink: sink})
	wire, _ := sample(t, 2)
	answers := make(chan error, 2)
	grpcClient, httpClient := dial(t, r), client(t)
	go func() {
		_, err := grpcClient.Export(t.Context(), one(func(*tracepb.Span) {}))
		answers <- err
	}()
	go func() {
		resp, err := httpClient.Post("http://"+r.HTTPAddr().String()+DefaultPath, typeProto, bytes.NewReader(wire))
		if err == nil && resp.StatusCode != http.StatusOK {
			t.Errorf("got %s", resp.Status)
		}
		answers <- err
	}()
	<-sink.called
	<-sink.called
	if got := r.Stats().Active; got != 2 {
		t.Errorf("%d requests are in progress, want 2", got)
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	if resp, err := httpClient.Get("http://" + r.HTTPAddr().String()); err == nil {
		resp.Body.Close() // the connection may have been accepted before; the check is below
	}
	close(sink.open)
	for range 2 {
		if err := <-answers; err != nil {
			t.Errorf("a request in progress failed: %v", err)
		}
	}
	<-stopped
	if spans, _ := sink.has(); spans != 3 {
		t.Errorf("%d spans were accepted, want 3", spans)
	}
	if resp, err := client(t).Get("http://" + r.HTTPAddr().String()); err == nil {
		resp.Body.Close()
		t.Error("the receiver still listens")
	}
}

// TestBusy: requests wait for their turn. After that they are refused with a retry delay.
func TestBusy(t *testing.T) {
	sink := newGate()
	r, _ := started(t, Options{Sink: sink, MaxRequests: 1, Timeout: time.Second})
	first := make(chan error, 1)
	grpcClient := dial(t, r)
	go func() {
		_, err := grpcClient.Export(t.Context(), one(func(*tracepb.Span) {}))
		first <- err
	}()
	<-sink.called
	if no := mustRefuse(
		t,
		r,
	); no.kind != busy || no.status().Code() != codes.Unavailable || no.http != http.StatusTooManyRequests ||
		no.retryAfter() != "2" {
		t.Errorf("got %+v", no)
	}
	close(sink.open)
	if err := <-first; err != nil && status.Code(err) != codes.Unavailable { // it may have timed out
		t.Errorf("the first request failed: %v", err)
	}
	done, no := r.turn(t.Context())
	if no != nil {
		t.Fatalf("no turn after the first request: %v", no)
	}
	done()
}

func mustRefuse(t *testing.T, r *Receiver) *refusal {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // turn must not wait
	done, no := r.turn(ctx)
	if no == nil {
		done()
		t.Fatal("turn succeeded, want a refusal")
	}
	return no
}
