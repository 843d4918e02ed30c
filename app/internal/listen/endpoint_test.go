// SPDX-License-Identifier: Apache-2.0

package listen_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
)

func TestValidate(t *testing.T) {
	pair := listen.TLS{CertFile: "c", KeyFile: "k"}
	none := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("there is none") }
	cases := map[string]struct {
		reason   string
		endpoint listen.Endpoint
		err      string // empty for none
	}{
		"nowhere": {reason: "it is not asked for"},
		"managed": {reason: "it is TLS", endpoint: listen.Endpoint{Address: ":9443", Certificate: none}},
		"managed twice": {
			reason:   "one of them is meant",
			endpoint: listen.Endpoint{Address: ":9443", Certificate: none, TLS: pair},
			err:      "there are TLS files, and a certificate that is managed",
		},
		"loopback":         {reason: "it may be plaintext", endpoint: listen.Endpoint{Address: "127.0.0.1:4317"}},
		"another loopback": {reason: "all of 127/8 is", endpoint: listen.Endpoint{Address: "127.9.9.9:4317"}},
		"IPv6":             {reason: "loopback, too", endpoint: listen.Endpoint{Address: "[::1]:4317"}},
		"localhost": {
			reason:   "the one name whose meaning is known",
			endpoint: listen.Endpoint{Address: "localhost:0"},
		},
		"open, asked for": {
			reason:   "a sidecar's network may be trusted",
			endpoint: listen.Endpoint{Address: ":4317", Insecure: true},
		},
		"TLS": {reason: "any address may have it", endpoint: listen.Endpoint{Address: ":4317", TLS: pair}},
		"open": {
			reason:   "nobody opens it by mistake",
			endpoint: listen.Endpoint{Address: "0.0.0.0:4317"},
			err:      "cannot listen for spans on \"0.0.0.0:4317\" without TLS: it is not loopback",
		},
		"every address": {
			reason:   "an empty host is every one",
			endpoint: listen.Endpoint{Address: ":4318"},
			err:      "on \":4318\" without TLS",
		},
		"IPv6, open": {
			reason:   "no zone makes it loopback",
			endpoint: listen.Endpoint{Address: "[fe80::1%lo]:4318"},
			err:      "without TLS",
		},
		"a name": {
			reason:   "nobody knows where it leads",
			endpoint: listen.Endpoint{Address: "collector:4318"},
			err:      "without TLS",
		},
		"no port": {
			reason:   "ports are not guessed",
			endpoint: listen.Endpoint{Address: "localhost"},
			err:      `on "localhost": it is not host:port`,
		},
		"bad port": {
			reason:   "there is none of that number",
			endpoint: listen.Endpoint{Address: "localhost:70000"},
			err:      "its port is not 0 to 65535",
		},
		"port by name": {
			reason:   "what it means is the machine's",
			endpoint: listen.Endpoint{Address: "localhost:http"},
			err:      "its port is not 0 to 65535",
		},
		"no key": {
			reason:   "a certificate alone proves nothing",
			endpoint: listen.Endpoint{Address: ":1", TLS: listen.TLS{CertFile: "c"}},
			err:      "needs both a certificate and its key",
		},
		"no certificate": {
			reason:   "nor does a key",
			endpoint: listen.Endpoint{Address: ":1", TLS: listen.TLS{KeyFile: "k"}},
			err:      "needs both",
		},
		"only a CA": {
			reason:   "plaintext knows no clients",
			endpoint: listen.Endpoint{Address: "localhost:1", TLS: listen.TLS{ClientCAFile: "a"}},
			err:      "needs both",
		},
		"insecure halves": {
			reason:   "what is asked for beside it must be whole",
			endpoint: listen.Endpoint{Address: ":1", Insecure: true, TLS: listen.TLS{CertFile: "c"}},
			err:      "needs both",
		},
		"TLS nowhere": {
			reason:   "somebody forgot the address",
			endpoint: listen.Endpoint{TLS: pair},
			err:      "cannot listen for spans: there are TLS files, and no address",
		},
		"endless": {
			reason:   "an error is one line",
			endpoint: listen.Endpoint{Address: strings.Repeat("x\n", 500) + ":1"},
			err:      "without TLS",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			switch err := tc.endpoint.Validate("spans"); {
			case tc.err == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400):
				t.Errorf("got %v, want %q in one line", err, tc.err)
			}
		})
	}
}

// opened listens until the test ends.
func opened(t *testing.T, e listen.Endpoint, p listen.Purpose) net.Listener {
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

// TestAddress: what cannot be listened on is one clear error.
func TestAddress(t *testing.T) {
	p := listen.Purpose{Name: "spans", MaxConnections: 1}
	taken := opened(t, listen.Endpoint{Address: "127.0.0.1:0"}, p).Addr().String()
	for name, tc := range map[string]struct {
		reason  string
		address string
		err     string
	}{
		"taken":   {"two cannot have it", taken, "cannot listen for spans (choose a free address, or end what has it): listen tcp " + taken},
		"nowhere": {"who listens means some address", "", "cannot listen for spans: there is no address"},
		"open":    {"it is validated", ":0", "without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			ln, err := listen.Endpoint{Address: tc.address}.Listen(t.Context(), p)
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
	if _, err := (listen.Endpoint{Address: "localhost:0"}).Listen(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not want to listen any more got %v", err)
	}
}

// TestMaxConnections: one more waits until another has gone.
func TestMaxConnections(t *testing.T) {
	ln := opened(t, listen.Endpoint{Address: "127.0.0.1:0"}, listen.Purpose{MaxConnections: 1})
	type taken struct {
		net.Conn
		alone bool
	}
	var gone atomic.Bool // the first has
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
	// Both are connected. While the first is served, the second would have been
	// taken, too.
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
		t.Error("a second connection was taken beside the first")
	}
	_ = second.Close()
	_ = ln.Close()
	if _, more := <-accepted; more {
		t.Error("there is a third connection")
	}
}
