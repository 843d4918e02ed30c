// SPDX-License-Identifier: Apache-2.0

package httpserve_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// greeting is sent to each client after its handshake.
const greeting = "hello"

// serve sends the greeting to each client until the test ends.
func serve(t *testing.T, ln net.Listener) {
	t.Helper()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_, _ = io.WriteString(conn, greeting) // the client reports a failed handshake
			})
		}
	})
	t.Cleanup(func() { _ = ln.Close(); running.Wait() })
}

// greeted connects and reads the greeting. It returns the connection's state, or the error of a
// rejected client.
func greeted(t *testing.T, ln net.Listener, config *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	// With TLS 1.3, a rejected client gets the error at its first read.
	got, err := io.ReadAll(conn)
	if err == nil && string(got) != greeting {
		t.Errorf("the client received %q, want the greeting", got)
	}
	return conn.(*tls.Conn).ConnectionState(), err
}

func TestHandshake(t *testing.T) {
	server, clients, stranger := httpservetest.New(t), httpservetest.New(t), httpservetest.New(t)
	private := httpserve.Endpoint{Address: "127.0.0.1:0", TLS: server.Files(t, clients)}
	public := httpserve.Endpoint{Address: "127.0.0.1:0", TLS: server.Files(t, nil)}
	older := clients.Client(t, server)
	older.MaxVersion = tls.VersionTLS12
	tooOld := server.Trusting()
	tooOld.MinVersion, tooOld.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for name, tc := range map[string]struct {
		reason string
		at     httpserve.Endpoint
		client *tls.Config
		in     bool
	}{
		"good":             {"the client has the required certificate", private, clients.Client(t, server), true},
		"TLS 1.2":          {"TLS 1.2 is secure enough", private, older, true},
		"none":             {"a client needs a certificate", private, server.Trusting(), false},
		"wrong authority":  {"anybody can make certificates", private, stranger.Client(t, server), false},
		"server authority": {"the server's authority is not that of clients", private, server.Client(t, server), false},
		"none required":    {"every client is admitted", public, server.Trusting(), true},
		"not required":     {"the certificate is ignored", public, stranger.Client(t, server), true},
		"TLS 1.1":          {"TLS 1.1 is insecure", public, tooOld, false},
		"wrong server":     {"a client trusts only its own authority", public, stranger.Trusting(), false},
	} {
		t.Run(name, func(t *testing.T) {
			ln := opened(t, tc.at, httpserve.Purpose{})
			serve(t, ln)
			if _, err := greeted(t, ln, tc.client); (err == nil) != tc.in {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

// TestManaged: Endpoint.Certificate is called for each handshake.
func TestManaged(t *testing.T) {
	first, second := httpservetest.New(t), httpservetest.New(t)
	var now atomic.Pointer[tls.Certificate]
	ln := opened(
		t,
		httpserve.Endpoint{Address: "127.0.0.1:0", Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := now.Load(); c != nil {
				return c, nil
			}
			return nil, errors.New("no certificate yet")
		}},
		httpserve.Purpose{},
	)
	serve(t, ln)
	keep := func(a *httpservetest.Authority) {
		cert, key := a.Pair(t, 7)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		now.Store(&pair)
	}
	check := func(when string, a *httpservetest.Authority, in bool) {
		t.Helper()
		if _, err := greeted(t, ln, a.Trusting()); (err == nil) != in {
			t.Errorf("%s: got %v", when, err)
		}
	}
	check("no certificate", first, false)
	keep(first)
	check("first certificate", first, true)
	keep(second)
	check("renewed certificate", second, true)
	check("client of the first authority after renewal", first, false)
}

// TestPlaintext: a plaintext request to an endpoint with TLS gets no response of the server.
func TestPlaintext(t *testing.T) {
	ln := opened(
		t,
		httpserve.Endpoint{Address: "127.0.0.1:0", TLS: httpservetest.New(t).Files(t, nil)},
		httpserve.Purpose{},
	)
	serve(t, ln)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); strings.Contains(string(got), greeting) {
		t.Errorf("got %q", got)
	}
}

// TestProtocols: ALPN selects the server's preferred common protocol; none if the client offers
// none.
func TestProtocols(t *testing.T) {
	server := httpservetest.New(t)
	ln := opened(
		t,
		httpserve.Endpoint{Address: "127.0.0.1:0", TLS: server.Files(t, nil)},
		httpserve.Purpose{Protocols: []string{"h2", "http/1.1"}},
	)
	serve(t, ln)
	for name, tc := range map[string]struct {
		asks []string
		want string
		in   bool
	}{
		"both":  {[]string{"http/1.1", "h2"}, "h2", true},
		"older": {[]string{"http/1.1"}, "http/1.1", true},
		"none":  {nil, "", true},
		"other": {[]string{"smtp"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			config := server.Trusting()
			config.NextProtos = tc.asks
			state, err := greeted(t, ln, config)
			if state.NegotiatedProtocol != tc.want || (err == nil) != tc.in {
				t.Errorf("got %q, %v", state.NegotiatedProtocol, err)
			}
		})
	}
}

// logged collects the log of an endpoint.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestRenewal: the next handshake uses the changed files. Unusable files leave the last
// configuration in use, and are logged once.
func TestRenewal(t *testing.T) {
	server, clients, others := httpservetest.New(t), httpservetest.New(t), httpservetest.New(t)
	files := server.Files(t, clients)
	var log logged
	ln := opened(
		t,
		httpserve.Endpoint{Address: "127.0.0.1:0", TLS: files},
		httpserve.Purpose{Log: slog.New(slog.NewTextHandler(&log, nil))},
	)
	serve(t, ln)
	mine, theirs := clients.Client(t, server), others.Client(t, server)
	mine.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	renewed, key := server.Pair(t, 3)
	broken := []byte("-----BEGIN CERTIFICATE-----\nnothing")
	for _, step := range []struct {
		name   string
		change func()
		client *tls.Config
		serial int64 // of the server certificate; 0 if the client is rejected
		said   int   // the warnings so far
	}{
		{"first", func() {}, mine, 2, 0},
		{
			"half renewed: the certificate does not match the key",
			func() { httpservetest.Write(t, files.CertFile, renewed) }, mine, 2, 1,
		},
		{"still half renewed", func() {}, mine, 2, 1},
		{"renewed", func() { httpservetest.Write(t, files.KeyFile, key) }, mine, 3, 1},
		{"broken", func() { httpservetest.Write(t, files.CertFile, broken) }, mine, 3, 2},
		{"removed", func() { _ = os.Remove(files.CertFile) }, mine, 3, 3},
		{"restored", func() { httpservetest.Write(t, files.CertFile, renewed) }, mine, 3, 3},
		{"removed again", func() { _ = os.Remove(files.CertFile) }, mine, 3, 4},
		{"restored again", func() { httpservetest.Write(t, files.CertFile, renewed) }, mine, 3, 4},
		{"broken client CA", func() { httpservetest.Write(t, files.ClientCAFile, []byte("nothing")) }, mine, 3, 5},
		{
			"other client CA: a session is not resumed under a removed authority",
			func() { httpservetest.Write(t, files.ClientCAFile, others.PEM()) }, mine, 0, 5,
		},
		{"client of the other CA", func() {}, theirs, 3, 5},
	} {
		step.change()
		state, err := greeted(t, ln, step.client)
		if in := step.serial != 0; in != (err == nil) ||
			in && state.PeerCertificates[0].SerialNumber.Int64() != step.serial {
			t.Errorf("%s: got %v, %v, want certificate %d", step.name, state.PeerCertificates, err, step.serial)
		}
		if got := strings.Count(log.String(), "the last one stays"); got != step.said {
			t.Errorf("%s: %d warnings, want %d:\n%s", step.name, got, step.said, log.String())
		}
	}
	if !strings.Contains(log.String(), "for=spans") {
		t.Errorf("the log does not name the endpoint:\n%s", log.String())
	}
}

// TestNotValid: the server presents an invalid certificate, because the client decides, and logs it
// once.
func TestNotValid(t *testing.T) {
	server := httpservetest.New(t)
	files := server.Files(t, nil)
	renew := func(serial int64, until time.Time) {
		cert, key := server.PairUntil(t, serial, until)
		httpservetest.Write(t, files.KeyFile, key)
		httpservetest.Write(t, files.CertFile, cert)
	}
	renew(10, time.Now().Add(-time.Minute))
	var log logged
	ln := opened(
		t,
		httpserve.Endpoint{Address: "127.0.0.1:0", TLS: files},
		httpserve.Purpose{Log: slog.New(slog.NewTextHandler(&log, nil))},
	)
	if !strings.Contains(log.String(), "it has expired on") || !strings.Contains(log.String(), "file="+files.CertFile) {
		t.Errorf("Listen does not log the expired certificate and its file:\n%s", log.String())
	}
	serve(t, ln)
	careless := server.Trusting()
	careless.InsecureSkipVerify = true
	for _, step := range []struct {
		name   string
		until  time.Time // of a new certificate; zero keeps the last one
		client *tls.Config
		in     bool
		said   string
		times  int
	}{
		{"expired", time.Time{}, server.Trusting(), false, "it has expired on", 1},
		{"client without verification", time.Time{}, careless, true, "it has expired on", 1},
		{"not valid yet", time.Now().Add(3 * time.Hour), server.Trusting(), false, "it is valid only from", 1},
		{"renewed", time.Now().Add(time.Hour), server.Trusting(), true, "the certificate is not valid", 2},
		{"expired again", time.Now().Add(-time.Hour), server.Trusting(), false, "it has expired on", 2},
	} {
		if !step.until.IsZero() {
			renew(11, step.until)
		}
		if _, err := greeted(t, ln, step.client); (err == nil) != step.in {
			t.Errorf("%s: got %v", step.name, err)
		}
		if got := strings.Count(log.String(), step.said); got != step.times {
			t.Errorf("%s: logged %d times, want %d:\n%s", step.name, got, step.times, log.String())
		}
	}
}

// TestFiles: Listen fails for unusable files, and its error names the file.
func TestFiles(t *testing.T) {
	server := httpservetest.New(t)
	for name, tc := range map[string]struct {
		reason string
		change func(*httpserve.TLS)
		err    string
	}{
		"missing": {
			reason: "the name of the file has a typo",
			change: func(f *httpserve.TLS) { f.CertFile += "x" },
			err:    "cannot listen for spans: cannot read TLS file: open ",
		},
		"missing CA": {
			reason: "without it every client would be admitted",
			change: func(f *httpserve.TLS) { f.ClientCAFile = f.CertFile + "x" },
			err:    "cannot read TLS file: open ",
		},
		"other key": {
			reason: "the key must match the certificate",
			change: func(f *httpserve.TLS) { f.KeyFile = server.Files(t, nil).KeyFile },
			err:    "cannot use certificate ",
		},
		"no CA": {
			reason: "every client would be rejected",
			change: func(f *httpserve.TLS) { f.ClientCAFile = f.KeyFile },
			err:    "has no certificate in PEM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			f := server.Files(t, nil)
			tc.change(&f)
			ln, err := httpserve.Endpoint{
				Address: "127.0.0.1:0",
				TLS:     f,
			}.Listen(t.Context(), httpserve.Purpose{Name: "spans", MaxConnections: 1})
			if err == nil {
				_ = ln.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, want %q", err, tc.err)
			}
		})
	}
}
