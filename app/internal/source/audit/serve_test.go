// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// served runs s on a free port of loopback until the test ends or stop is called.
func served(t *testing.T, s *Source, files httpserve.TLS) (address string, stop func()) {
	t.Helper()
	ln, err := Listen(t.Context(), httpserve.Endpoint{Address: "127.0.0.1:0", TLS: files}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return ln.Addr().String(), stop
}

// post sends a body like the API server and returns the status; 0 if the connection was closed
// before the body was sent.
func post(t *testing.T, url string, body io.Reader, config *tls.Config) (code int, err error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(url, "application/json", body)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

func TestServe(t *testing.T) {
	to := newSink()
	address, stop := served(t, newSource(t, to, nil), httpserve.TLS{})
	if code, err := post(
		t,
		"http://"+address+"/any/path",
		bytes.NewReader(eventList(told())),
		nil,
	); code != http.StatusOK ||
		len(to.ids()) != 1 {
		t.Errorf("got %d, %v and %d writes", code, err, len(to.ids()))
	}
	if _, err := Listen(
		t.Context(),
		httpserve.Endpoint{Address: address},
		nil,
	); err == nil || !strings.Contains(err.Error(), "cannot listen for audit batches") ||
		!strings.Contains(err.Error(), address) {
		t.Errorf("for an address in use got %v", err)
	}
	stop()
	if code, err := post(t, "http://"+address, bytes.NewReader(eventList(told())), nil); err == nil {
		t.Errorf("after stop a request got %d", code)
	}
}

// TestMutualTLS: only clients with a trusted certificate may send events, because events decide the
// content of traces.
func TestMutualTLS(t *testing.T) {
	server, clients, stranger := httpservetest.New(t), httpservetest.New(t), httpservetest.New(t)
	to := newSink()
	address, _ := served(t, newSource(t, to, nil), server.Files(t, clients))
	for name, tc := range map[string]struct {
		reason string
		url    string
		client *tls.Config
		in     bool
	}{
		"API server": {
			"it has the certificate of the webhook's kubeconfig", "https://", clients.Client(t, server), true,
		},
		"stranger":  {"another authority's certificate is not trusted", "https://", stranger.Client(t, server), false},
		"nobody":    {"a client needs a certificate", "https://", server.Trusting(), false},
		"plaintext": {"plaintext does not avoid the check", "http://", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(to.ids())
			code, err := post(t, tc.url+address, bytes.NewReader(eventList(told())), tc.client)
			if in := code == http.StatusOK; in != tc.in || in != (len(to.ids()) == before+1) {
				t.Errorf("%s: got %d, %v", tc.reason, code, err)
			}
		})
	}
}

// spaces is a body of spaces; left is the number of unread ones. Its reader may still run after the
// response, so left is atomic.
type spaces struct{ left atomic.Int64 }

func (s *spaces) Read(p []byte) (int, error) {
	n := min(len(p), int(s.left.Load()))
	if n == 0 {
		return 0, io.EOF
	}
	copy(p, bytes.Repeat([]byte(" "), n))
	s.left.Add(int64(-n))
	return n, nil
}

// TestHugeBody: a body of 100 MB is read only up to the limit, with any announced size. The next
// batch is accepted.
func TestHugeBody(t *testing.T) {
	const size = 100 << 20
	for name, tc := range map[string]struct {
		reason string
		length int64
	}{
		"unknown":   {"a body of unknown size is read up to the limit", -1},
		"announced": {"an announced size above the limit is refused before reading", size},
	} {
		t.Run(name, func(t *testing.T) {
			to := newSink()
			s := newSource(t, to, nil)
			address, stop := served(t, s, httpserve.TLS{})
			body := new(spaces)
			body.left.Store(size)
			req, err := http.NewRequest(http.MethodPost, "http://"+address, io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = tc.length
			req.Header.Set("Content-Type", "application/json")
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			resp, err := transport.RoundTrip(req)
			if err == nil { // else the connection was closed before the body was written
				resp.Body.Close()
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s: got %s", tc.reason, resp.Status)
				}
			}
			if read := size - body.left.Load(); read > size/2 { // the limit and the socket buffers
				t.Errorf("%s: %d bytes were read", tc.reason, read)
			}
			if code, err := post(t, "http://"+address, bytes.NewReader(eventList(told())), nil); code != http.StatusOK {
				t.Errorf("the next batch got %d, %v", code, err)
			}
			stop()
			if got := s.Stats().Refused[http.StatusRequestEntityTooLarge]; got != 1 || len(to.ids()) != 1 {
				t.Errorf("%d batches were too large and %d writes accepted, want 1 and 1", got, len(to.ids()))
			}
		})
	}
}

// TestSlowBody: a request that stalls after one byte times out.
func TestSlowBody(t *testing.T) {
	to := newSink()
	s := newSource(t, to, func(c *Config) { c.MaxInFlight = 1 })
	s.patience = 200 * time.Millisecond
	address, _ := served(t, s, httpserve.TLS{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(
		conn,
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestTimeout || !answer.Close {
		t.Fatalf("got %v, %v", answer, err)
	}
	if got := s.Stats().Refused[http.StatusRequestTimeout]; got != 1 {
		t.Errorf("%d requests timed out, want 1", got)
	}
	for len(to.ids()) == 0 && t.Context().Err() == nil { // on a slow machine these may also time out
		code, err := post(t, "http://"+address, bytes.NewReader(eventList(told())), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("after it: %d", code)
	}
}

// TestSlowHoldsNoTurn: an unfinished batch does not take the turn of another.
func TestSlowHoldsNoTurn(t *testing.T) {
	to := newSink()
	address, _ := served(t, newSource(t, to, func(c *Config) { c.MaxInFlight = 1 }), httpserve.TLS{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(
		conn,
		"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"+
			"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
	)
	// The status 100 means that the source reads the body.
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	if code, err := post(
		t,
		"http://"+address,
		bytes.NewReader(eventList(told())),
		nil,
	); err != nil ||
		code != http.StatusOK {
		t.Errorf("got %d, %v", code, err)
	}
	_ = conn.Close()
}

// TestSlowHeader: the connection of a client that never ends its header is closed.
func TestSlowHeader(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the header timeout")
	}
	t.Parallel()
	s := newSource(t, newSink(), nil)
	address, _ := served(t, s, httpserve.TLS{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nX-")
	if _, err := io.ReadAll(conn); err != nil { // returns when the server closes the connection
		t.Fatal(err)
	}
	if got := s.Stats().Events; got != 0 {
		t.Errorf("%d events were accepted, want 0", got)
	}
}
