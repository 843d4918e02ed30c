// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestElsewhere: other requests are rejected at once, without reading them.
func TestElsewhere(t *testing.T) {
	s := newServed(t)
	client := s.client(t)
	good := reviewOf("ann", "", "", "")
	for name, tc := range map[string]struct {
		method, path, media, body string
		code                      int
	}{
		"another path": {http.MethodPost, "/", "application/json", good, http.StatusNotFound},
		"below it":     {http.MethodPost, "/admission/x", "application/json", good, http.StatusNotFound},
		"metrics":      {http.MethodGet, "/metrics", "", "", http.StatusNotFound},
		"GET":          {http.MethodGet, "/admission", "", "", http.StatusMethodNotAllowed},
		"protobuf": {
			http.MethodPost, "/admission", "application/vnd.kubernetes.protobuf", good, http.StatusUnsupportedMediaType,
		},
		"nothing": {http.MethodPost, "/admission", "application/json", "", http.StatusBadRequest},
		"deeply nested": {
			http.MethodPost, "/admission", "application/json", strings.Repeat("[", 50_000), http.StatusBadRequest,
		},
		"good": {http.MethodPost, "/admission", "application/json; charset=utf-8", good, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(tc.method, "https://"+s.address+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", tc.media)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); resp.StatusCode != tc.code || len(body) == 0 || err != nil {
				t.Errorf("got %s, %v: %s", resp.Status, err, body)
			}
		})
	}
}

// zeros is a body of a given size that counts the bytes read.
type zeros struct{ left atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left.Load())
	if n == 0 {
		return 0, io.EOF
	}
	copy(p, bytes.Repeat([]byte(" "), int(n)))
	z.left.Add(-n)
	return int(n), nil
}

// TestHugeBody: of 100 MB only the size limit of a review is read, with any declared size. The next
// call is answered.
func TestHugeBody(t *testing.T) {
	const size = 100 << 20
	s := newServed(t)
	for name, length := range map[string]int64{"unknown": -1, "announced": size} {
		t.Run(name, func(t *testing.T) {
			body := new(zeros)
			body.left.Store(size)
			req, err := http.NewRequest(http.MethodPost, "https://"+s.address+"/admission", io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = length
			req.Header.Set("Content-Type", "application/json")
			if resp, err := s.client(t).Do(req); err == nil { // otherwise the connection was closed during the write
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("got %s", resp.Status)
				}
			}
			if taken := size - body.left.Load(); taken > size/2 {
				t.Errorf("%d bytes were taken", taken)
			}
			if _, code, err := post(s.client(t), s.address, "/admission",
				reviewOf("ann", "", "", "")); code != http.StatusOK {
				t.Errorf("after it: %d, %v", code, err)
			}
		})
	}
	if got := s.metric(t, "malformed_total"); got != "2" {
		t.Errorf("%s are counted", got)
	}
}

// TestSlow: clients that stall large reviews block only large reviews.
func TestSlow(t *testing.T) {
	s := newServed(t)
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range 20 {
		conn, err := (&tls.Dialer{Config: s.ca.Trusting()}).DialContext(t.Context(), "tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprint(conn, "POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+
			"1000000\r\n\r\n"+strings.Repeat(" ", 100<<10))
	}
	client := s.client(t)
	if r, code, err := post(client, s.address, "/admission", reviewOf("ann", "", "", "")); err != nil || r == nil {
		t.Errorf("a small one gets %d, %v", code, err)
	}
	large := reviewOf("ann", "", "", `, "annotations": {"a": "`+strings.Repeat("x", 100<<10)+`"}`)
	for busy := false; !busy; { // until they have all slots
		began := time.Now()
		_, code, err := post(client, s.address, "/admission", large)
		if err != nil {
			t.Fatal(err)
		}
		if busy = code == http.StatusServiceUnavailable; busy && time.Since(began) > time.Second {
			t.Errorf("the refusal came after %s", time.Since(began))
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	for answered := false; !answered; {
		r, _, err := post(client, s.address, "/admission", large)
		answered = err == nil && r != nil && r.Patch != nil
	}
}

// TestTooMany: at the limit, new connections are closed at once. Existing ones are answered.
func TestTooMany(t *testing.T) {
	s := newServed(t)
	client := s.client(t)
	if _, code, err := post(client, s.address, "/admission", reviewOf("ann", "", "", "")); code != http.StatusOK {
		t.Fatal(code, err)
	}
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range 1100 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
		if err != nil {
			t.Skipf("this machine does not allow so many connections: %v", err)
		}
		conns = append(conns, conn)
	}
	last := conns[len(conns)-1]
	_ = last.SetReadDeadline(time.Now().Add(3 * time.Second))
	if _, err := last.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		t.Errorf("one too many waits: %v", err)
	}
	if _, code, err := post(client, s.address, "/admission", reviewOf("ann", "", "", "")); code != http.StatusOK {
		t.Errorf("the first gets %d, %v", code, err)
	}
	if got := s.metric(t, "busy_total"); got == "0" {
		t.Error("they are not counted")
	}
	if got := s.log.String(); strings.Count(got, "there are too many at a time") != 1 {
		t.Errorf("the log is:\n%s", got)
	}
}

// TestVersion2: HTTP/2 is disabled, so that no client can flood a connection with streams.
func TestVersion2(t *testing.T) {
	s := newServed(t)
	config := s.ca.Trusting()
	config.NextProtos = []string{"h2"}
	if conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", s.address); err == nil {
		_ = conn.Close()
		t.Error("version 2 is spoken")
	}
	config = s.ca.Trusting()
	config.NextProtos = []string{"h2", "http/1.1"} // as for a URL of localhost
	tr := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	if _, code, err := post(&http.Client{Transport: tr}, s.address, "/admission",
		reviewOf("ann", "", "", "")); code != http.StatusOK {
		t.Errorf("who speaks both gets %d, %v", code, err)
	}
	conn, err := (&tls.Dialer{Config: s.ca.Trusting()}).DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	if got, _ := io.ReadAll(conn); strings.Contains(string(got), "200 OK") {
		t.Errorf("a client without a request gets %q", got)
	}
}

// TestStrangers: failed handshakes are logged once.
func TestStrangers(t *testing.T) {
	s := newServed(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_, _ = io.ReadAll(conn)
		})
	}
	all.Wait()
	s.stop()
	if got := s.log.String(); strings.Count(got, "was not understood") != 1 ||
		!strings.Contains(got, "TLS handshake error") {
		t.Errorf("the log is:\n%s", got)
	}
}
