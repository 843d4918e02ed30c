// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

const firstToken, nextToken = "0123456789abcdef", "fedcba9876543210"

// guarded starts a server with TLS whose only answer needs firstToken, and returns its URL.
func guarded(t *testing.T, ca *httpservetest.Authority) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte(firstToken))
	token, err := httpserve.Endpoint{TokenFile: file}.Token(httpserve.Purpose{Name: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	pair := ca.Files(t, nil)
	cert, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !token.Admits(r) {
			api.Reject(w, http.StatusUnauthorized, "no")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"version":"v1"}`))
	}))
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestAccess(t *testing.T) {
	ca, other := httpservetest.New(t), httpservetest.New(t)
	server := guarded(t, ca)
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		httpservetest.Write(t, file, []byte(content))
		return file
	}
	right, wrong, short := write("right", firstToken+"\n"), write("wrong", nextToken), write("short", "0123")
	trusted, foreign := write("ca.pem", string(ca.PEM())), write("other.pem", string(other.PEM()))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason, server string
		access         Access
		err            string // empty for none
	}{
		"both":      {"", server, Access{right, trusted}, ""},
		"no token":  {"", server, Access{"", trusted}, "requires a token: name the file that has it with --token-file"},
		"old token": {"", server, Access{wrong, trusted}, "does not accept the token in " + wrong},
		"no CA": {
			"the certificate is not of the system's authorities", server, Access{right, ""},
			"is not trusted: name the file with its authority with --ca-file or LIFELINE_CA_FILE",
		},
		"other CA": {"", server, Access{right, foreign}, "is not trusted: it is not of an authority in " + foreign},
		"plaintext": {
			"a server with TLS", "http://127.0.0.1:" + port, Access{right, ""},
			"if it serves https, name it with https://",
		},
		"remote plaintext": {
			"the token stays here", "http://lifeline.example:7070", Access{right, ""},
			"the token is not sent to http://lifeline.example:7070",
		},
		"short token":   {"", server, Access{short, trusted}, "cannot use the token file " + short},
		"missing token": {"", server, Access{dir + "/none", trusted}, "cannot read the token file"},
		"missing CA":    {"", server, Access{right, dir + "/none"}, "cannot read the CA file"},
		"no PEM":        {"", server, Access{right, short}, "it has no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			c, err := New(tc.server, tc.access)
			if err == nil {
				defer c.Close()
				_, err = c.Info(t.Context())
			}
			switch {
			case (err == nil) != (tc.err == ""), err != nil && !strings.Contains(err.Error(), tc.err):
				t.Errorf("got %v, want %q", err, tc.err)
			case err != nil && (strings.Contains(err.Error(), firstToken) || strings.Contains(err.Error(), nextToken)):
				t.Errorf("the error has the token: %v", err)
			}
		})
	}
}

// TestRenewedToken: the next request has the token of a changed file.
func TestRenewedToken(t *testing.T) {
	ca := httpservetest.New(t)
	a := Access{TokenFile: filepath.Join(t.TempDir(), "token"), CAFile: filepath.Join(t.TempDir(), "ca.pem")}
	httpservetest.Write(t, a.CAFile, ca.PEM())
	httpservetest.Write(t, a.TokenFile, []byte(nextToken))
	c, err := New(guarded(t, ca), a)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Info(context.Background()); err == nil {
		t.Error("another token is accepted")
	}
	httpservetest.Write(t, a.TokenFile, []byte(firstToken))
	if _, err := c.Info(context.Background()); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
}

// TestNameOfCertificate: the certificate must have the name of the server.
func TestNameOfCertificate(t *testing.T) {
	ca := httpservetest.New(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	httpservetest.Write(t, file, ca.PEM())
	server := strings.Replace(guarded(t, ca), "127.0.0.1", "127.0.0.2", 1)
	c, err := New(server, Access{CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Some systems have only one loopback address; there the connection fails.
	if _, err := c.Info(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "is not valid: x509") && !strings.Contains(err.Error(), "connect") {
		t.Errorf("got %v", err)
	}
}
