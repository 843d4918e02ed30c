// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// warnings collects an Exporter's warnings.
type warnings struct {
	mu   sync.Mutex
	said []string
	news chan struct{}
}

func newWarnings() *warnings { return &warnings{news: make(chan struct{}, 100)} }

func (w *warnings) warn(format string, args ...any) {
	w.mu.Lock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
	w.mu.Unlock()
	w.news <- struct{}{}
}

func (w *warnings) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.said, "\n")
}

func start(t *testing.T, o Options) *Exporter {
	t.Helper()
	e, err := New(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	if e == nil {
		t.Fatal("nothing is to be sent")
	}
	return e
}

// patience limits every wait for an expected event.
const patience = 5 * time.Minute

// finish closes e with ample time.
func finish(t *testing.T, e *Exporter) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	return e.Close(ctx)
}

// hurried closes e without time.
func hurried(t *testing.T, e *Exporter) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return e.Close(ctx)
}

func one(t *span.Trace) []*span.Trace { return []*span.Trace{t} }

func TestSendsEverySpanOnce(t *testing.T) {
	cases := map[string]struct {
		reason string
		grpc   bool
		flag   func(address string) string
		env    func(address string) map[string]string
	}{
		"flag http": {reason: "the path is appended", flag: func(a string) string { return "http://" + a }},
		"flag http path": {
			reason: "below the path given", flag: func(a string) string { return "http://" + a + "/otlp/" },
		},
		"flag http full": {
			reason: "a full path stays", flag: func(a string) string { return "http://" + a + "/x/v1/traces" },
		},
		"flag host:port": {reason: "HTTP unless something says gRPC", flag: func(a string) string { return a }},
		"flag grpc": {
			reason: "gRPC in plain text", grpc: true, flag: func(a string) string { return "grpc://" + a },
		},
		"flag and protocol": {
			reason: "the protocol's variable decides for the flag", grpc: true,
			flag: func(a string) string { return "http://" + a },
			env:  func(string) map[string]string { return map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"} },
		},
		"flag wins": {
			reason: "a flag is nearer than a variable",
			flag:   func(a string) string { return "http://" + a },
			env: func(string) map[string]string {
				return map[string]string{
					"OTEL_EXPORTER_OTLP_ENDPOINT":        "http://127.0.0.1:1",
					"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1",
					"OTEL_SDK_DISABLED":                  "true", "OTEL_TRACES_EXPORTER": "none",
				}
			},
		},
		"endpoint": {
			reason: "HTTP and protobuf by default",
			env: func(a string) map[string]string {
				return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + a}
			},
		},
		"traces endpoint": {
			reason: "as it is, before the general one",
			env: func(a string) map[string]string {
				return map[string]string{
					"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://" + a + "/a/v1/traces",
					"OTEL_EXPORTER_OTLP_ENDPOINT":        "http://127.0.0.1:1",
				}
			},
		},
		"json": {
			reason: "OTLP's third form",
			env: func(a string) map[string]string {
				return map[string]string{
					"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + a, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
				}
			},
		},
		"grpc": {
			reason: "the protocol for traces before the general one", grpc: true,
			env: func(a string) map[string]string {
				return map[string]string{
					"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + a,
					"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
				}
			},
		},
		"grpc without scheme": {
			reason: "whatever gRPC knows", grpc: true,
			env: func(a string) map[string]string {
				return map[string]string{
					"OTEL_EXPORTER_OTLP_ENDPOINT": strings.Replace(a, "127.0.0.1", "localhost", 1),
					"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_INSECURE": "true",
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, l := newReceiver(), listen(t, "127.0.0.1:0")
			if tc.grpc {
				serveGRPC(t, r, l)
			} else {
				serveHTTP(t, r, l)
			}
			o := Options{Cluster: "c"}
			if tc.flag != nil {
				o.Endpoint = tc.flag(l.Addr().String())
			}
			if tc.env != nil {
				for k, v := range tc.env(l.Addr().String()) {
					t.Setenv(k, v)
				}
			}
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=se%20cret")
			t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "20000")
			e := start(t, o)
			trace := spantest.Apply()
			e.Export(one(trace))
			e.Export(one(trace))
			if err := finish(t, e); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			e.Export(one(spantest.CrashLoop())) // ignored after Close
			if spans, most := r.sent(); spans != len(trace.Spans) || most != 1 {
				t.Errorf("%s: %d of %d spans arrived, one of them %d times", tc.reason, spans, len(trace.Spans), most)
			}
			if got := r.header("x-key"); got != "se cret" {
				t.Errorf("header x-key is %q", got)
			}
			if len(r.service) != 5 {
				t.Errorf("spans came from %v, want 5 components", r.service)
			}
		})
	}
}

func TestSendsOpenSpansOnceTheyEnd(t *testing.T) {
	r, l := newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	e := start(t, Options{Endpoint: "http://" + l.Addr().String()})
	open := spantest.Unschedulable()
	e.Export(one(open))
	r.await(t, 1)
	if spans, _ := r.sent(); spans != 1 {
		t.Errorf("%d spans were sent, one had ended", spans)
	}
	e.Export(span.EndOpen(one(open), spantest.At(9000).Time))
	if err := finish(t, e); err != nil {
		t.Fatal(err)
	}
	if spans, most := r.sent(); spans != len(open.Spans) || most != 1 {
		t.Errorf("%d of %d spans arrived, one of them %d times", spans, len(open.Spans), most)
	}
}

func TestBackendDownThenUp(t *testing.T) {
	for name, scheme := range map[string]string{"gRPC": "grpc://", "HTTP": "http://"} {
		t.Run(name, func(t *testing.T) {
			probe := listen(t, "127.0.0.1:0")
			address := probe.Addr().String()
			probe.Close() // only its port is needed
			said := newWarnings()
			e := start(t, Options{Endpoint: scheme + address, Warn: said.warn})
			trace := spantest.Many(300)
			e.Export(one(trace))
			<-said.news // it was tried and failed
			r, l := newReceiver(), listen(t, address)
			if name == "gRPC" {
				serveGRPC(t, r, l)
			} else {
				serveHTTP(t, r, l)
			}
			if err := finish(t, e); err != nil {
				t.Fatal(err)
			}
			if spans, most := r.sent(); spans != len(trace.Spans) || most != 1 {
				t.Errorf("%d of %d spans arrived, one of them %d times", spans, len(trace.Spans), most)
			}
			if r.calls < 3 {
				t.Errorf("%d spans came in %d requests", len(trace.Spans), r.calls)
			}
			if got := said.text(); strings.Count(got, "\n") != 0 || !strings.Contains(got, address) ||
				!strings.Contains(got, "--otlp") {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

func TestBackendStaysDown(t *testing.T) {
	probe := listen(t, "127.0.0.1:0")
	address := probe.Addr().String()
	probe.Close() // only its port is needed
	for _, endpoint := range []string{"http://" + address, "grpc://" + address} {
		said := newWarnings()
		e := start(t, Options{Endpoint: endpoint, Warn: said.warn})
		e.Export(one(spantest.Apply()))
		<-said.news
		err := hurried(t, e)
		if err == nil {
			t.Fatal("no span arrived, and Close says nothing")
		}
		for _, want := range []string{"10 of 10 spans", address, "--otlp", "refused"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is missing in: %v", want, err)
			}
		}
		if again := e.Close(t.Context()); again == nil || again.Error() != err.Error() {
			t.Errorf("a second Close says: %v", again)
		}
	}
}

func TestBusyBackendIsAskedAgain(t *testing.T) {
	for name, scheme := range map[string]string{"gRPC": "grpc://", "HTTP": "http://"} {
		t.Run(name, func(t *testing.T) {
			r, l := newReceiver(), listen(t, "127.0.0.1:0")
			busy := 3
			r.answer = func(int) (ptraceotlp.ExportResponse, error) {
				if busy--; busy >= 0 {
					return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "come again")
				}
				return ptraceotlp.NewExportResponse(), nil
			}
			if name == "gRPC" {
				serveGRPC(t, r, l)
			} else {
				serveHTTP(t, r, l)
			}
			e := start(t, Options{Endpoint: scheme + l.Addr().String()})
			e.Export(one(spantest.Apply()))
			if err := finish(t, e); err != nil {
				t.Fatal(err)
			}
			if spans, most := r.sent(); spans != 10 || most != 1 || r.calls != 4 {
				t.Errorf("%d spans arrived, one of them %d times, in %d requests", spans, most, r.calls)
			}
		})
	}
}

func TestRefusedSpans(t *testing.T) {
	partly := func(int) (ptraceotlp.ExportResponse, error) {
		resp := ptraceotlp.NewExportResponse()
		resp.PartialSuccess().SetRejectedSpans(2)
		resp.PartialSuccess().SetErrorMessage("too old\x1b[2J")
		return resp, nil
	}
	wholly := func(int) (ptraceotlp.ExportResponse, error) {
		return ptraceotlp.NewExportResponse(), status.Error(codes.InvalidArgument, "no such tenant")
	}
	warned := func(int) (ptraceotlp.ExportResponse, error) {
		resp := ptraceotlp.NewExportResponse()
		resp.PartialSuccess().SetErrorMessage("this API is deprecated")
		return resp, nil
	}
	cases := map[string]struct {
		reason string
		answer func(int) (ptraceotlp.ExportResponse, error)
		want   []string
	}{
		"partly": {
			"those that were refused are counted, and no batch is sent twice", partly, []string{
				"2 of 10 spans", "too old [2J",
			},
		},
		"wholly": {"a refusal is final", wholly, []string{"10 of 10 spans", "no such tenant"}},
		"warned": {"a warning refuses nothing", warned, nil},
	}
	for name, tc := range cases {
		for _, scheme := range []string{"grpc://", "http://"} {
			t.Run(name+" "+scheme, func(t *testing.T) {
				r, l := newReceiver(), listen(t, "127.0.0.1:0")
				r.answer = tc.answer
				if scheme == "grpc://" {
					serveGRPC(t, r, l)
				} else {
					serveHTTP(t, r, l)
				}
				said := newWarnings()
				e := start(t, Options{Endpoint: scheme + l.Addr().String(), Warn: said.warn})
				e.Export(one(spantest.Apply()))
				err := finish(t, e)
				if (err != nil) != (tc.want != nil) {
					t.Fatalf("%s: Close says: %v", tc.reason, err)
				}
				for _, want := range tc.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %q is missing in: %v", tc.reason, want, err)
					}
				}
				if tc.want != nil && !strings.Contains(said.text(), "refused") {
					t.Errorf("%s: warnings: %q", tc.reason, said.text())
				}
				if r.calls != 1 {
					t.Errorf("%s: it was asked %d times", tc.reason, r.calls)
				}
			})
		}
	}
}

func TestTLS(t *testing.T) {
	cert, certFile, keyFile := authority(t)
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   string
	}{
		"trusted": {
			"certificates come from the variables", map[string]string{
				"CERTIFICATE": certFile, "CLIENT_CERTIFICATE": certFile, "CLIENT_KEY": keyFile,
			}, "",
		},
		"for traces": {
			"and from those for traces", map[string]string{
				"TRACES_CERTIFICATE": certFile, "TRACES_CLIENT_CERTIFICATE": certFile, "TRACES_CLIENT_KEY": keyFile,
			}, "",
		},
		"untrusted": {"no unknown authority is trusted", nil, "certificate"},
	}
	for name, tc := range cases {
		for _, scheme := range []string{"grpcs://", "https://"} {
			t.Run(name+" "+scheme, func(t *testing.T) {
				r := newReceiver()
				var address string
				if scheme == "grpcs://" {
					l := listen(t, "127.0.0.1:0")
					serveGRPC(t, r, l, mutualTLS(t, cert))
					address = l.Addr().String()
				} else {
					s := httptest.NewUnstartedServer(r)
					s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
					s.StartTLS()
					t.Cleanup(s.Close)
					address = s.Listener.Addr().String()
				}
				for k, v := range tc.env {
					t.Setenv("OTEL_EXPORTER_OTLP_"+k, v)
				}
				said := newWarnings()
				e := start(t, Options{Endpoint: scheme + address, Warn: said.warn})
				e.Export(one(spantest.Apply()))
				if tc.want != "" {
					<-said.news
					if err := hurried(t, e); err == nil || !strings.Contains(err.Error(), tc.want) {
						t.Errorf("%s: Close says: %v", tc.reason, err)
					}
					return
				}
				if err := finish(t, e); err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if spans, _ := r.sent(); spans != 10 {
					t.Errorf("%s: %d spans arrived", tc.reason, spans)
				}
			})
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	probe := listen(t, "127.0.0.1:0")
	defer probe.Close()
	e := start(t, Options{Endpoint: "http://" + probe.Addr().String()}) // it never answers
	b := spantest.New("big")
	for i := range maxQueue + 7 {
		s := &span.Span{TraceID: b.Trace.ID, Start: spantest.At(0), End: spantest.At(1)}
		s.ID[0], s.ID[1], s.ID[2], s.ID[3] = byte(i), byte(i>>8), byte(i>>16), 1
		b.Trace.Spans = append(b.Trace.Spans, s)
	}
	e.Export(one(b.Trace))
	err := hurried(t, e)
	if err == nil || !strings.Contains(err.Error(), "more than 100000 spans were waiting") ||
		!errors.Is(err, errQueueFull) {
		t.Errorf("Close says: %v", err)
	}
}

func TestBigBatchesAreSplit(t *testing.T) {
	r, l := newReceiver(), listen(t, "127.0.0.1:0")
	serveGRPC(t, r, l) // takes 4 MiB at most
	e := start(t, Options{Endpoint: "grpc://" + l.Addr().String()})
	b := spantest.New("big")
	for range 400 {
		s := b.Add(nil, "s", "x", spantest.Ref("", "Pod", "p"), 0, 1)
		for range 30 {
			s.Events = append(s.Events, spantest.Event(1, "event", "reason", strings.Repeat("x", 1000)))
		}
	}
	e.Export(one(b.Trace))
	if err := finish(t, e); err != nil {
		t.Fatal(err)
	}
	if spans, most := r.sent(); spans != 400 || most != 1 || r.calls < 5 {
		t.Errorf("%d spans arrived, one of them %d times, in %d requests", spans, most, r.calls)
	}
}

func TestNilExporter(t *testing.T) {
	var e *Exporter
	e.Export(one(spantest.Apply()))
	if err := e.Close(t.Context()); err != nil || e.Endpoint() != "" {
		t.Errorf("a nil Exporter closes with %v and sends to %q", err, e.Endpoint())
	}
}

func TestContextEndsIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	e, err := New(ctx, Options{Endpoint: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	e.Export(one(spantest.Apply()))
	cancel()
	if err := finish(t, e); err == nil || !strings.Contains(err.Error(), "10 of 10 spans") {
		t.Errorf("Close says: %v", err)
	}
}
