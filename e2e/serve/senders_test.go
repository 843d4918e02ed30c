// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// receiving is a server with all of its receivers open.
type receiving struct {
	*harness.Server
	ways []way
}

// way is a receiver of a server, and the way to send to it.
type way struct {
	name, over, address string
	// path and contentType are those of a good request.
	path, contentType string
	// frame returns the body for a message, compressed if packed.
	frame func(message []byte, packed bool) []byte
	// good is a valid message, bad an invalid one.
	good, bad []byte
	// client returns a client of the protocol.
	client func() *sender
	// fine is the response to a good request. large, malformed and foreign are those to a body
	// above the size limit, an invalid body, and another content type.
	fine, large, malformed, foreign string
	// slow is the number of slow senders, below the receiver's limit of connections.
	slow int
}

// receive starts a server with all receivers open.
func receive(t *testing.T) *receiving {
	t.Helper()
	r := &receiving{Server: bench.Server(t, harness.ServerOptions{Config: `receivers:
  otlp: {grpc: {address: "127.0.0.1:0"}, http: {address: "127.0.0.1:0"}}
  audit: {webhook: {address: "127.0.0.1:0"}}
`})}
	r.Start(t)
	plain := func(message []byte, packed bool) []byte {
		if packed {
			return zipped(message)
		}
		return message
	}
	r.ways = []way{
		{
			name: "OTLP over gRPC", over: "gRPC", path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
			contentType: "application/grpc", frame: framed, good: spans(t), bad: []byte{1<<3 | 2, 200}, client: client2,
			fine: "200 grpc 0", large: "200 grpc 8", malformed: "200 grpc 3", foreign: "415", slow: 200,
		},
		{
			name:        "OTLP over HTTP",
			over:        "HTTP",
			path:        "/v1/traces",
			contentType: "application/x-protobuf",
			frame:       plain,
			good:        spans(t),
			bad:         []byte{1<<3 | 2, 200},
			client:      client1,
			fine:        "200",
			large:       "413",
			malformed:   "400",
			foreign:     "415",
			slow:        200,
		},
		{
			name:        "audit webhook",
			over:        "",
			path:        "/",
			contentType: "application/json",
			frame:       plain,
			good:        []byte(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[]}`),
			bad:         []byte(`{"kind":"EventList","items":[{]}`),
			client:      client1,
			fine:        "200",
			large:       "413",
			malformed:   "400",
			foreign:     "415",
			slow:        50,
		},
	}
	r.locate(t)
	return r
}

// locate reads the addresses of the running process from its log.
func (r *receiving) locate(t *testing.T) {
	t.Helper()
	for i := range r.ways {
		w := &r.ways[i]
		harness.Eventually(t, "the address of "+w.name, func() bool {
			for _, l := range r.Lines() {
				if l.Message() == "OTLP is received" && l.Field("over") == w.over ||
					l.Message() == "audit events are received" && w.over == "" {
					w.address = l.Field("address") // the last line is that of the running process
				}
			}
			return w.address != ""
		})
	}
}

// spans returns an export request with one span.
func spans(t *testing.T) []byte {
	t.Helper()
	doc := ptrace.NewTraces()
	rs := doc.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "somebody")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("work")
	s.SetTraceID(pcommon.TraceID{1, 2, 3})
	s.SetSpanID(pcommon.SpanID{4})
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Second)))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	raw, err := ptraceotlp.NewExportRequestFromTraces(doc).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// framed returns a message with the frame of gRPC.
func framed(message []byte, packed bool) []byte {
	head := make([]byte, 5)
	if packed {
		head[0], message = 1, zipped(message)
	}
	binary.BigEndian.PutUint32(head[1:], uint32(len(message)))
	return append(head, message...)
}

func zipped(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Bytes()
}

// sender is a client with separate connections. close closes them, even during a request. A transport
// keeps a connection that it gets after the end of the request: such a one is closed at once.
type sender struct {
	http.Client
	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

// client1 returns a client of HTTP/1.1.
func client1() *sender { return newSender((*http.Protocols).SetHTTP1) }

// client2 returns a client of HTTP/2 without TLS.
func client2() *sender { return newSender((*http.Protocols).SetUnencryptedHTTP2) }

func newSender(speak func(*http.Protocols, bool)) *sender {
	s := new(sender)
	tr := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	speak(tr.Protocols, true)
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		s.conns = append(s.conns, conn)
		return conn, nil
	}
	s.Transport = tr
	return s
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

// send sends a body. It returns the status of the response, with that of gRPC if present, or the
// error of the connection.
func (w way) send(ctx context.Context, c *sender, body io.Reader, header map[string]string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.address+w.path, body)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", w.contentType)
	if w.contentType == "application/grpc" {
		req.Header.Set("Te", "trailers")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := c.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	status := strconv.Itoa(res.StatusCode)
	for _, from := range []http.Header{res.Trailer, res.Header} {
		if code := from.Get("Grpc-Status"); code != "" {
			return status + " grpc " + code
		}
	}
	return status
}

// packed returns the header of a compressed body.
func (w way) packed() map[string]string {
	if w.contentType == "application/grpc" {
		return map[string]string{"Grpc-Encoding": "gzip"}
	}
	return map[string]string{"Content-Encoding": "gzip"}
}

// taken reports whether a response means success.
func taken(answer string) bool { return answer == "200" || answer == "200 grpc 0" }

// again reports whether a response asks for a retry.
func again(answer string) bool { return answer == "429" || answer == "503" || answer == "200 grpc 14" }

// patient is the time of OpenTelemetry's exporters for retries.
const patient = time.Minute

// serves sends a good message like a component, with retries, and returns the time until its
// success.
func (w way) serves(t *testing.T) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	c := w.client()
	defer c.close()
	began := time.Now()
	for {
		answer := w.send(ctx, c, bytes.NewReader(w.frame(w.good, false)), nil)
		switch {
		case taken(answer):
			return time.Since(began)
		case again(answer) && ctx.Err() == nil:
			select {
			case <-time.After(time.Second): // the pause in the response
			case <-ctx.Done():
			}
		default:
			t.Errorf(
				"%s: a good message is not accepted after %s: %s",
				w.name,
				time.Since(began).Round(time.Millisecond),
				answer,
			)
			return time.Since(began)
		}
	}
}

// level is the number of goroutines and open files of a process.
type level struct{ goroutines, files float64 }

func (r *receiving) level(t *testing.T) level {
	t.Helper()
	m := r.Metrics(t)
	return level{m["go_goroutines"], m["process_open_fds"]}
}

// peak returns the process's peak of memory since the last forget, in MiB.
func (r *receiving) peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(kib)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n >> 10
		}
	}
	t.Fatalf("/proc/%d/status has no line VmHWM", r.PID())
	return 0
}

// forget resets the peak of memory.
func (r *receiving) forget(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", r.PID()), []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// spare is the tolerated increase of each number, for Go's runtime and idle connections.
const spare = 8

// returns waits until the process is back at the level before.
func (r *receiving) returns(t *testing.T, before level) {
	t.Helper()
	var now level
	defer func() { t.Logf("goroutines and files: %+v before, %+v after", before, now) }()
	harness.Eventually(t, fmt.Sprintf("goroutines and files back at %+v", before), func() bool {
		now = r.level(t)
		return now.goroutines <= before.goroutines+spare && now.files <= before.files+spare
	})
}

// costs is the tolerated memory of one bad request in MiB: that of the largest accepted audit
// batch, and the same again while its buffer grows.
const costs = 80

// TestBadSenders: a large, damaged or foreign message gets the right error response. It costs
// little memory, and does not disturb other senders.
func TestBadSenders(t *testing.T) {
	r := receive(t)
	defer r.Stop(t)
	const huge = 100 << 20
	for _, w := range r.ways {
		w.serves(t) // so that one-time allocations are in the level before
	}
	before := r.level(t)
	zeros := make([]byte, huge)
	for _, w := range r.ways {
		for name, tc := range map[string]struct {
			body   func() io.Reader
			header map[string]string
			want   string
		}{
			"100 MB": {
				func() io.Reader { return bytes.NewReader(w.frame(zeros, false)) }, nil, w.large,
			},
			"100 MB, unsized": {
				func() io.Reader { return struct{ io.Reader }{bytes.NewReader(w.frame(zeros, false))} }, nil, w.large,
			},
			"100 MB, packed": {
				func() io.Reader { return bytes.NewReader(w.frame(zeros, true)) }, w.packed(), w.large,
			},
			"damaged": {
				func() io.Reader { return bytes.NewReader(w.frame(w.bad, false)) }, nil, w.malformed,
			},
			"damaged, packed": {
				func() io.Reader { return bytes.NewReader(w.frame(w.bad, true)) }, w.packed(), w.malformed,
			},
			"another type": {
				func() io.Reader { return bytes.NewReader(w.frame(w.good, false)) },
				map[string]string{"Content-Type": "text/plain"}, w.foreign,
			},
			"no type": {
				func() io.Reader { return bytes.NewReader(w.frame(w.good, false)) },
				map[string]string{"Content-Type": ""}, w.foreign,
			},
			"good, packed": {
				func() io.Reader { return bytes.NewReader(w.frame(w.good, true)) }, w.packed(), w.fine,
			},
			"another protocol": {
				func() io.Reader { return strings.NewReader("\x00\x00\x00\x00\x20hello") }, nil, w.malformed,
			},
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				r.forget(t)
				base := r.peak(t)
				c := w.client()
				defer c.close()
				answer := w.send(t.Context(), c, tc.body(), tc.header)
				most := r.peak(t)
				t.Logf("%s; memory %d MiB, at most %d MiB", answer, base, most)
				// If the server stops reading, the response of HTTP/1.1 may be lost.
				if answer != tc.want &&
					!(tc.want == "413" && (strings.Contains(answer, "connection reset") ||
						strings.Contains(answer, "broken pipe"))) {
					t.Errorf("got %s, want %s", answer, tc.want)
				}
				if most-base > costs {
					t.Errorf("the request took %d MiB of memory, want at most %d", most-base, costs)
				}
			})
		}
		w.serves(t)
	}
	r.returns(t, before)
}

// TestSlowSenders: the server cuts off senders with endless requests. Meanwhile it serves good
// senders.
func TestSlowSenders(t *testing.T) {
	harness.Slow(t)
	r := receive(t)
	defer r.Stop(t)
	for _, w := range r.ways {
		w.serves(t)
	}
	before := r.level(t)
	for _, w := range r.ways {
		for name, slow := range map[string]func(context.Context, way) string{"header": slowHeader, "body": slowBody} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				r.forget(t)
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				var cut atomic.Int64
				var mu sync.Mutex
				answers := map[string]int{}
				for range w.slow {
					all.Go(func() {
						for ctx.Err() == nil {
							answer := slow(ctx, w)
							if ctx.Err() == nil {
								cut.Add(1)
								mu.Lock()
								answers[answer]++
								mu.Unlock()
							}
						}
					})
				}
				harness.Eventually(
					t,
					"the connections of the slow senders",
					func() bool { return r.level(t).files >= before.files+float64(w.slow)/2 },
				)
				var worst time.Duration
				for range 5 {
					for _, other := range r.ways {
						took := other.serves(t)
						worst = max(worst, took)
						if other.name == w.name {
							t.Logf("%s: served in %s", other.name, took)
						}
					}
				}
				harness.Eventually(t, "the end of the slow senders", func() bool { return cut.Load() >= int64(w.slow) })
				t.Logf(
					"the good senders were served within %s; memory at most %d MiB; %d slow senders cut off: %v",
					worst.Round(time.Millisecond),
					r.peak(t),
					cut.Load(),
					answers,
				)
				cancel()
				all.Wait()
				r.returns(t, before)
			})
		}
	}
}

// slowHeader sends the start of a request's header, and then a byte at a time.
func slowHeader(ctx context.Context, w way) string {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	text := "POST / HTTP/1.1\r\nHost: localhost\r\nX-"
	if w.contentType == "application/grpc" {
		text = "PRI * HTTP"
	}
	drip(ctx, conn, []byte(text))
	return "closed"
}

// drip writes the start, and then a byte at a time, until the server closes the connection or ctx
// ends.
func drip(ctx context.Context, conn net.Conn, begin []byte) {
	if _, err := conn.Write(begin); err != nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, conn)
	}()
	tick := time.NewTicker(dripEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = conn.Close()
			<-closed
			return
		case <-closed:
			return
		case <-tick.C:
			_, _ = conn.Write([]byte("a"))
		}
	}
}

// dripEvery is the time between the bytes of a slow sender.
const dripEvery = 500 * time.Millisecond

// slowBody sends a request with its body a byte at a time, and returns the response.
func slowBody(ctx context.Context, w way) string {
	body, in := io.Pipe()
	ended := make(chan struct{})
	defer func() { <-ended }()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(ended)
		tick := time.NewTicker(dripEvery)
		defer tick.Stop()
		next := w.frame(make([]byte, 1000), false)
		for i := 0; ; i++ {
			select {
			case <-stop:
				_ = in.CloseWithError(io.ErrUnexpectedEOF)
				return
			case <-tick.C:
				if _, err := in.Write(next[i%len(next) : i%len(next)+1]); err != nil {
					return
				}
			}
		}
	}()
	c := w.client()
	defer c.close()
	return w.send(ctx, c, body, nil)
}
