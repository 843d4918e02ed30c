// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestHTTP(t *testing.T) {
	wire, text := sample(t, 3)
	partly := marshal(t, one(func(s *tracepb.Span) { s.TraceId = nil }))
	cases := map[string]struct {
		reason   string
		sink     Sink
		method   string
		path     string
		header   map[string]string
		body     []byte
		status   int
		code     codes.Code
		answer   string // header=value
		accepted uint64
		rejected int64
		counts   string
	}{
		"protobuf": {
			reason:   "what exporters send",
			header:   map[string]string{"Content-Type": typeProto},
			body:     wire,
			status:   200,
			accepted: 3,
		},
		"json": {
			reason:   "what browsers and scripts send",
			header:   map[string]string{"Content-Type": "application/json; charset=utf-8"},
			body:     text,
			status:   200,
			accepted: 3,
		},
		"protobuf, gzip": {
			reason:   "what Collectors send",
			header:   map[string]string{"Content-Type": typeProto, "Content-Encoding": "gzip"},
			body:     zipped(t, wire),
			status:   200,
			accepted: 3,
		},
		"json, gzip": {
			reason:   "likewise",
			header:   map[string]string{"Content-Type": typeJSON, "Content-Encoding": "GZIP"},
			body:     zipped(t, text),
			status:   200,
			accepted: 3,
		},
		"identity": {
			reason:   "identity means no compression",
			header:   map[string]string{"Content-Type": typeProto, "Content-Encoding": "identity"},
			body:     wire,
			status:   200,
			accepted: 3,
		},
		"nothing": {
			reason: "an empty request is a success",
			header: map[string]string{"Content-Type": typeProto},
			status: 200,
		},
		"partial": {
			reason:   "the response counts the rejected span",
			header:   map[string]string{"Content-Type": typeProto},
			body:     partly,
			status:   200,
			rejected: 1,
		},
		"partial, json": {
			reason: "the response counts it in JSON", header: map[string]string{"Content-Type": typeJSON},
			body: []byte(jsonSpan(`"spanId":""`)), status: 200, rejected: 1,
		},
		"full": {
			reason: "OTLP: 503 is retryable, with Retry-After",
			sink:   SinkFunc(func(context.Context, []*span.Span) error { return errFull }),
			header: map[string]string{
				"Content-Type": typeProto,
			},
			body:   wire,
			status: 503,
			code:   codes.Unavailable,
			answer: "Retry-After=2",
			counts: "full",
		},
		"full, json": {
			reason: "the status is in the encoding of the request",
			sink:   SinkFunc(func(context.Context, []*span.Span) error { return errFull }),
			header: map[string]string{
				"Content-Type": typeJSON,
			},
			body:   text,
			status: 503,
			code:   codes.Unavailable,
			answer: "Retry-After=2",
			counts: "full",
		},
		"bug": {
			reason: "one request does not end the server",
			sink:   SinkFunc(func(context.Context, []*span.Span) error { panic("bug") }),
			header: map[string]string{
				"Content-Type": typeProto,
			},
			body:   wire,
			status: 500,
			code:   codes.Internal,
			counts: "bug",
		},
		"damaged": {
			reason: "OTLP: 400, not to be repeated",
			header: map[string]string{"Content-Type": typeProto},
			body:   wire[:len(wire)-1],
			status: 400,
			code:   codes.InvalidArgument,
			counts: "malformed",
		},
		"damaged, json": {
			reason: "likewise",
			header: map[string]string{"Content-Type": typeJSON},
			body:   text[:len(text)-1],
			status: 400,
			code:   codes.InvalidArgument,
			counts: "malformed",
		},
		"not gzip": {
			reason: "the body is not gzip, but the header says so",
			header: map[string]string{"Content-Type": typeProto, "Content-Encoding": "gzip"},
			body:   wire,
			status: 400,
			code:   codes.InvalidArgument,
			counts: "malformed",
		},
		"cut gzip": {
			reason: "the end of the body is missing",
			header: map[string]string{"Content-Type": typeProto, "Content-Encoding": "gzip"},
			body:   zipped(t, wire)[:40],
			status: 400,
			code:   codes.InvalidArgument,
			counts: "malformed",
		},
		"wrong encoding": {
			reason: "the header says JSON, the body is protobuf",
			header: map[string]string{"Content-Type": typeJSON},
			body:   wire,
			status: 400,
			code:   codes.InvalidArgument,
			counts: "malformed",
		},
		"deflate": {
			reason: "OTLP requires only gzip",
			header: map[string]string{"Content-Type": typeProto, "Content-Encoding": "deflate"},
			body:   wire,
			status: 415,
			code:   codes.InvalidArgument,
			counts: "foreign",
		},
		"no type": {
			reason: "a form of a web page has no such type",
			body:   wire,
			status: 415,
			code:   codes.InvalidArgument,
			counts: "foreign",
		},
		"text": {
			reason: "not OTLP",
			header: map[string]string{"Content-Type": "text/plain"},
			body:   text,
			status: 415,
			code:   codes.InvalidArgument,
			counts: "foreign",
		},
		"GET": {
			reason: "a browser",
			method: http.MethodGet,
			status: 405,
			code:   codes.Unimplemented,
			answer: "Allow=POST",
			counts: "foreign",
		},
		"OPTIONS": {
			reason: "a preflight request of a web page",
			method: http.MethodOptions,
			status: 405,
			code:   codes.Unimplemented,
			counts: "foreign",
		},
		"web page": {
			reason: "DNS rebinding: a web page's name resolves to loopback",
			header: map[string]string{"Content-Type": typeProto, "Origin": "http://evil.example"},
			body:   wire,
			status: 403,
			code:   codes.PermissionDenied,
			counts: "foreign",
		},
		"logs": {
			reason: "another signal",
			path:   "/v1/logs",
			header: map[string]string{"Content-Type": typeProto},
			body:   wire,
			status: 404,
			code:   codes.NotFound,
			counts: "foreign",
		},
		"large": {
			reason: "OTLP: 413, not to be repeated",
			header: map[string]string{"Content-Type": typeProto},
			body:   make([]byte, 1<<20+1),
			status: 413,
			code:   codes.ResourceExhausted,
			counts: "large",
		},
		"large, json": {
			reason: "the decoder of JSON takes more memory",
			header: map[string]string{"Content-Type": typeJSON},
			body:   []byte("{" + strings.Repeat(" ", 256<<10) + "}"),
			status: 413,
			code:   codes.ResourceExhausted,
			counts: "large",
		},
		"bomb": {
			reason: "small on the wire",
			header: map[string]string{"Content-Type": typeProto, "Content-Encoding": "gzip"},
			body:   zipped(t, make([]byte, 100<<20)),
			status: 413,
			code:   codes.ResourceExhausted,
			counts: "large",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			r, _ := started(t, Options{Sink: tc.sink, MaxBytes: 1 << 20})
			if tc.method == "" {
				tc.method = http.MethodPost
			}
			if tc.path == "" {
				tc.path = DefaultPath
			}
			req, err := http.NewRequestWithContext(
				t.Context(),
				tc.method,
				"http://"+r.HTTPAddr().String()+tc.path,
				bytes.NewReader(tc.body),
			)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tc.header {
				req.Header.Set(k, v)
			}
			resp, err := client(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tc.status {
				t.Fatalf("got %s and %q, %v", resp.Status, raw, err)
			}
			wantType := typeJSON
			if tc.header["Content-Type"] == typeProto {
				wantType = typeProto
			}
			if got := resp.Header.Get("Content-Type"); got != wantType {
				t.Errorf("the content type of the response is %s, want %s", got, wantType)
			}
			if k, v, _ := strings.Cut(tc.answer, "="); k != "" && resp.Header.Get(k) != v {
				t.Errorf("header %s is %q, want %q", k, resp.Header.Get(k), v)
			}
			read := protojson.Unmarshal
			if wantType == typeProto {
				read = proto.Unmarshal
			}
			if tc.status != http.StatusOK {
				var s spb.Status
				if err := read(raw, &s); err != nil || codes.Code(s.GetCode()) != tc.code || s.GetMessage() == "" ||
					strings.Contains(s.GetMessage(), errFull.Error()) {
					t.Errorf("got %v, %v", &s, err)
				}
			} else {
				var answer coltracepb.ExportTraceServiceResponse
				if err := read(raw, &answer); err != nil ||
					answer.GetPartialSuccess().GetRejectedSpans() != tc.rejected {
					t.Errorf("got %v, %v", &answer, err)
				}
			}
			stats := r.Stats()
			if stats.Accepted != tc.accepted || int64(stats.Rejected["id"]) != tc.rejected {
				t.Errorf("got %+v", stats)
			}
			for reason, n := range stats.Refused {
				if want := reason == tc.counts; want != (n == 1) {
					t.Errorf("refused as %s: %d", reason, n)
				}
			}
		})
	}
}

// zeros is a body of zeros; left is the number of unread ones. Its reader may still run after the
// response, so left is atomic.
type zeros struct{ left atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(len(p), int(z.left.Load()))
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	z.left.Add(int64(-n))
	return n, nil
}

// TestHugeBody: a body of unknown size is read only up to the limit, and the receiver goes on.
func TestHugeBody(t *testing.T) {
	r, _ := started(t, Options{})
	const size = 100 << 20
	body := new(zeros)
	body.left.Store(size)
	resp, err := client(t).Post("http://"+r.HTTPAddr().String()+DefaultPath, typeProto, struct{ io.Reader }{body})
	if err == nil { // else the connection was closed before the body was written
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("got %s", resp.Status)
		}
	}
	if taken := size - body.left.Load(); taken > size/2 { // the limit and the socket buffers
		t.Errorf("%d bytes were read, want at most half of %d", taken, size)
	}
	if got := r.Stats().Refused["large"]; got != 1 {
		t.Errorf("%d requests were counted as too large, want 1", got)
	}
	wire, _ := sample(t, 1)
	resp, err = client(t).Post("http://"+r.HTTPAddr().String()+DefaultPath, typeProto, bytes.NewReader(wire))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("after it: %v, %v", resp, err)
	}
	resp.Body.Close()
}

// TestSlowBody: a request that stalls after one byte times out and holds no turn.
func TestSlowBody(t *testing.T) {
	r, _ := started(t, Options{MaxRequests: 1, Timeout: 200 * time.Millisecond})
	conn, err := net.Dial("tcp", r.HTTPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(
		conn,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n\x0a",
		DefaultPath,
		typeProto,
	)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestTimeout || !answer.Close {
		t.Fatalf("got %v, %v", answer, err)
	}
	if got := r.Stats().Refused["slow"]; got != 1 {
		t.Errorf("%d requests were counted as slow, want 1", got)
	}
	wire, _ := sample(t, 1)
	next := client(t)
	for r.Stats().Accepted == 0 && t.Context().Err() == nil { // on a slow machine these may also time out
		resp, err := next.Post("http://"+r.HTTPAddr().String()+DefaultPath, typeProto, bytes.NewReader(wire))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("after it: %s", resp.Status)
		resp.Body.Close()
	}
}

// TestSlowHeader: the connection of a client that never ends its header is closed.
func TestSlowHeader(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the header timeout")
	}
	t.Parallel()
	r, _ := started(t, Options{})
	conn, err := net.Dial("tcp", r.HTTPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nX-", DefaultPath)
	if _, err := io.ReadAll(conn); err != nil { // returns when the server closes the connection
		t.Fatal(err)
	}
	if r.Stats().Active != 0 {
		t.Error("the request holds a turn")
	}
}
