// SPDX-License-Identifier: Apache-2.0

package httpserve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

func TestValidate(t *testing.T) {
	pair := httpserve.TLS{CertFile: "c", KeyFile: "k"}
	none := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("no certificate") }
	cases := map[string]struct {
		reason   string
		endpoint httpserve.Endpoint
		err      string // empty for none
	}{
		"disabled": {reason: "an endpoint needs no address"},
		"managed": {
			reason:   "a managed certificate means TLS",
			endpoint: httpserve.Endpoint{Address: ":9443", Certificate: none},
		},
		"managed, with files": {
			reason:   "the certificate would be ambiguous",
			endpoint: httpserve.Endpoint{Address: ":9443", Certificate: none, TLS: pair},
			err:      "set either TLS files or a managed certificate, not both",
		},
		"loopback": {
			reason:   "plaintext is allowed on loopback",
			endpoint: httpserve.Endpoint{Address: "127.0.0.1:4317"},
		},
		"another loopback": {
			reason:   "all of 127.0.0.0/8 is loopback",
			endpoint: httpserve.Endpoint{Address: "127.9.9.9:4317"},
		},
		"IPv6": {reason: "[::1] is loopback", endpoint: httpserve.Endpoint{Address: "[::1]:4317"}},
		"localhost": {
			reason:   "localhost is the only name that counts as loopback",
			endpoint: httpserve.Endpoint{Address: "localhost:0"},
		},
		"open, insecure": {
			reason:   "a sidecar's network may be trusted",
			endpoint: httpserve.Endpoint{Address: ":4317", Insecure: true},
		},
		"TLS": {
			reason:   "TLS is allowed on every address",
			endpoint: httpserve.Endpoint{Address: ":4317", TLS: pair},
		},
		"open": {
			reason:   "plaintext beyond loopback must be deliberate",
			endpoint: httpserve.Endpoint{Address: "0.0.0.0:4317"},
			err:      "cannot listen for spans on \"0.0.0.0:4317\" without TLS: it is not loopback",
		},
		"every address": {
			reason:   "an empty host means every address",
			endpoint: httpserve.Endpoint{Address: ":4318"},
			err:      "on \":4318\" without TLS",
		},
		"IPv6, open": {
			reason:   "a zone does not make an address loopback",
			endpoint: httpserve.Endpoint{Address: "[fe80::1%lo]:4318"},
			err:      "without TLS",
		},
		"a name": {
			reason:   "a name may resolve to any address",
			endpoint: httpserve.Endpoint{Address: "collector:4318"},
			err:      "without TLS",
		},
		"private": {
			reason:   "an address with a certificate and a token",
			endpoint: httpserve.Endpoint{Address: ":7070", Private: true, TLS: pair, TokenFile: "t"},
		},
		"private, loopback": {
			reason:   "only users of this machine reach it",
			endpoint: httpserve.Endpoint{Address: "127.0.0.1:7070", Private: true},
		},
		"private, no token": {
			reason:   "TLS alone limits no client",
			endpoint: httpserve.Endpoint{Address: ":7070", Private: true, TLS: pair},
			err:      "needs both a certificate and a token file",
		},
		"private, no TLS": {
			reason:   "the network could read the token, also with Insecure",
			endpoint: httpserve.Endpoint{Address: "lifeline:7070", Private: true, Insecure: true, TokenFile: "t"},
			err:      "needs both a certificate and a token file",
		},
		"no port": {
			reason:   "the port has no default",
			endpoint: httpserve.Endpoint{Address: "localhost"},
			err:      `on "localhost": it is not host:port`,
		},
		"bad port": {
			reason:   "ports end at 65535",
			endpoint: httpserve.Endpoint{Address: "localhost:70000"},
			err:      "its port is not 0 to 65535",
		},
		"port by name": {
			reason:   "port names differ between machines",
			endpoint: httpserve.Endpoint{Address: "localhost:http"},
			err:      "its port is not 0 to 65535",
		},
		"no key": {
			reason:   "a certificate is useless without its key",
			endpoint: httpserve.Endpoint{Address: ":1", TLS: httpserve.TLS{CertFile: "c"}},
			err:      "needs both a certificate and its key",
		},
		"no certificate": {
			reason:   "a key is useless without its certificate",
			endpoint: httpserve.Endpoint{Address: ":1", TLS: httpserve.TLS{KeyFile: "k"}},
			err:      "needs both",
		},
		"only a CA": {
			reason:   "plaintext cannot authenticate clients",
			endpoint: httpserve.Endpoint{Address: "localhost:1", TLS: httpserve.TLS{ClientCAFile: "a"}},
			err:      "needs both",
		},
		"insecure, no key": {
			reason:   "Insecure does not excuse incomplete TLS",
			endpoint: httpserve.Endpoint{Address: ":1", Insecure: true, TLS: httpserve.TLS{CertFile: "c"}},
			err:      "needs both",
		},
		"TLS without address": {
			reason:   "the address was forgotten",
			endpoint: httpserve.Endpoint{TLS: pair},
			err:      "cannot listen for spans: TLS files are set, but no address",
		},
		"long address": {
			reason:   "an error has one short line",
			endpoint: httpserve.Endpoint{Address: strings.Repeat("x\n", 500) + ":1"},
			err:      "without TLS",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			switch err := tc.endpoint.Validate("spans"); {
			case tc.err == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) ||
				strings.Contains(err.Error(), "\n") || len(err.Error()) > 400):
				t.Errorf("got %v, want %q in one line of at most 400 bytes", err, tc.err)
			}
		})
	}
}

// opened returns a listener that is closed at the end of the test.
func opened(t *testing.T, e httpserve.Endpoint, p httpserve.Purpose) net.Listener {
	t.Helper()
	if p.Name == "" {
		p.Name = "spans"
	}
	if p.MaxConnections == 0 {
		p.MaxConnections = 16
	}
	ln, err := e.Listen(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// TestAddress: an unusable address gives an error of one line.
func TestAddress(t *testing.T) {
	p := httpserve.Purpose{Name: "spans", MaxConnections: 1}
	taken := opened(t, httpserve.Endpoint{Address: "127.0.0.1:0"}, p).Addr().String()
	for name, tc := range map[string]struct {
		reason  string
		address string
		err     string
	}{
		"taken": {
			"another listener has the address", taken,
			"cannot listen for spans (choose a free address, or stop the process that uses it): listen tcp " + taken,
		},
		"none": {"Listen needs an address", "", "cannot listen for spans: there is no address"},
		"open": {"Listen calls Validate", ":0", "without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			ln, err := httpserve.Endpoint{Address: tc.address}.Listen(t.Context(), p)
			if err == nil {
				_ = ln.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, tc.err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (httpserve.Endpoint{Address: "localhost:0"}).Listen(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: got %v, want context.Canceled", err)
	}
}

// TestMaxConnections: without Refused, a connection above the limit waits until another is closed.
func TestMaxConnections(t *testing.T) {
	ln := opened(t, httpserve.Endpoint{Address: "127.0.0.1:0"}, httpserve.Purpose{MaxConnections: 1})
	type taken struct {
		net.Conn
		alone bool
	}
	var gone atomic.Bool // the first connection is being closed
	accepted := make(chan taken)
	go func() {
		defer close(accepted)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- taken{conn, gone.Load()}
		}
	}()
	var clients [2]net.Conn
	for i := range clients {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		clients[i] = conn
	}
	first := <-accepted
	// Both clients are connected. During these exchanges, a second connection would have been
	// accepted, too.
	for range 100 {
		if _, err := io.WriteString(first, greeting); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(clients[0], make([]byte, len(greeting))); err != nil {
			t.Fatal(err)
		}
	}
	gone.Store(true)
	_ = first.Close()
	second := <-accepted
	if !second.alone {
		t.Error("a second connection was accepted beside the first")
	}
	_ = second.Close()
	_ = ln.Close()
	if _, more := <-accepted; more {
		t.Error("accepted a third connection")
	}
}
