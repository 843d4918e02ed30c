// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestKubeconfigHoldsNoCredential(t *testing.T) {
	h := newHarness(t, func(http.ResponseWriter, *http.Request) {})
	text, err := os.ReadFile(h.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"user-secret", "joe-secret"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the temporary kubeconfig holds %q", secret)
		}
	}
	info, err := os.Stat(h.path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %o, want 600", got)
	}
	cfg := h.config(t, "")
	if cfg.Host != h.server.URL {
		t.Errorf("the server is %s, want the real one %s: discovery caches are named after it", cfg.Host, h.server.URL)
	}
	mirrored, err := clientcmd.LoadFromFile(h.path)
	if err != nil {
		t.Fatal(err)
	}
	if got := mirrored.Contexts["main"].Namespace; got != "shop" {
		t.Errorf("namespace %q, want shop", got)
	}
}

func TestEachContextHasItsUser(t *testing.T) {
	h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User"))
	})
	cases := map[string]struct {
		reason  string
		context string
		change  func(*rest.Config)
		want    string
	}{
		"Current": {"the context in effect", "", nil, "Bearer user-secret "},
		"Other":   {"the command selects another context", "second", nil, "Basic am9lOmpvZS1zZWNyZXQ= "},
		"Impersonate": {
			"--as is kept",
			"",
			func(c *rest.Config) { c.Impersonate.UserName = "eve" },
			"Bearer user-secret eve",
		},
		"OwnToken": {
			"the command's own credential replaces the user's",
			"",
			func(c *rest.Config) { c.BearerToken = "mine" },
			"Bearer mine ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := h.config(t, tc.context)
			if tc.change != nil {
				tc.change(cfg)
			}
			client, err := rest.HTTPClientFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer client.CloseIdleConnections()
			if got := get(t, client, h.server.URL+"/version"); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestStrangersAreRefused(t *testing.T) {
	h := newHarness(t, func(http.ResponseWriter, *http.Request) { t.Error("the API server was reached") })
	cfg := h.config(t, "")
	via, err := cfg.Proxy(&http.Request{URL: &url.URL{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("NoToken", func(t *testing.T) {
		anonymous := rest.AnonymousClientConfig(cfg)
		anonymous.Proxy = cfg.Proxy
		client, err := rest.HTTPClientFor(anonymous)
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		resp, err := client.Get(h.server.URL + "/version")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("got %d, want 401", resp.StatusCode)
		}
	})
	dials := map[string]struct {
		reason string
		via    url.URL
		server string
		want   string
	}{
		"NoSecret": {
			"another process on this machine has no secret",
			url.URL{Scheme: "http", Host: via.Host},
			h.server.URL,
			"Proxy Authentication Required",
		},
		"WrongSecret": {
			"the secret of another run is not valid",
			url.URL{Scheme: "http", Host: via.Host, User: url.UserPassword("c0", "x")},
			h.server.URL,
			"Proxy Authentication Required",
		},
		"Elsewhere": {
			"the user's credentials go only to the user's servers",
			*via,
			"https://elsewhere.example",
			"does not know server elsewhere.example:443",
		},
	}
	for name, tc := range dials {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{Proxy: http.ProxyURL(&tc.via)}
			defer transport.CloseIdleConnections()
			_, err := (&http.Client{Transport: transport}).Get(tc.server)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestServerNamedByTheCommand(t *testing.T) {
	second := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "second "+r.Header.Get("Authorization"))
	})
	h := newHarness(t, func(http.ResponseWriter, *http.Request) { t.Error("the first server was reached") },
		func(raw *clientcmdapi.Config, o *Options) {
			o.Servers = []string{second.server.URL}
			raw.Clusters["c"].CertificateAuthorityData = nil
			raw.Clusters["c"].InsecureSkipTLSVerify = true
		})
	cfg := h.config(t, "")
	cfg.Host = second.server.URL
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	if got, want := get(t, client, second.server.URL+"/version"), "second Bearer user-secret"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPlainServerNamedByTheCommand: over plain HTTP client-go sends no credential, and the proxy
// adds none.
func TestPlainServerNamedByTheCommand(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "plain "+r.Header.Get("Authorization"))
	}))
	defer plain.Close()
	h := newHarness(t, func(http.ResponseWriter, *http.Request) { t.Error("the first server was reached") },
		func(_ *clientcmdapi.Config, o *Options) { o.Servers = []string{plain.URL} })
	if got, want := get(t, h.client(t, ""), plain.URL+"/version"), "plain "; !strings.HasPrefix(got, want) ||
		strings.Contains(got, "secret") {
		t.Errorf("got %q, want %q", got, want)
	}
	if cfg := h.REST("main@" + plain.URL); cfg == nil || cfg.BearerToken != "" {
		t.Errorf("got configuration %v, want one without a credential", cfg != nil)
	}
}

func TestExecPluginsRunWhenNeeded(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "plugin")
	script := `#!/bin/sh
echo called >> ` + dir + `/calls
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'
`
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	h := newHarness(
		t,
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) },
		func(raw *clientcmdapi.Config, _ *Options) {
			raw.AuthInfos["other"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
				APIVersion:      "client.authentication.k8s.io/v1",
				Command:         plugin,
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}}
		},
	)
	_ = get(t, h.client(t, "main"), h.server.URL+"/version")
	if _, err := os.Stat(filepath.Join(dir, "calls")); err == nil {
		t.Error("the credential plugin of an unused context was called")
	}
	for range 2 {
		if got, want := get(t, h.client(t, "second"), h.server.URL+"/version"), "Bearer from-plugin"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); string(calls) != "called\n" {
		t.Errorf("the credential plugin wrote %q, want one call", calls)
	}
}

func TestUnreachableServer(t *testing.T) {
	h := newHarness(t, func(http.ResponseWriter, *http.Request) {})
	h.server.Close()
	resp, err := h.client(t, "").Post(h.server.URL+"/api/v1/namespaces/a/configmaps", "application/json",
		strings.NewReader(`{"kind":"ConfigMap","metadata":{"name":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // only read
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), "cannot reach "+h.server.URL) {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	if w := h.writes(); len(w) != 1 || w[0].Reason != "NoAnswer" || !w[0].Failed() {
		t.Errorf("got writes %+v, want one with reason NoAnswer", w)
	}
}

func TestStreamsPassAtOnce(t *testing.T) {
	next := make(chan string)
	h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for line := range next {
			_, _ = fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		}
	})
	resp, err := h.client(t, "").Get(h.server.URL + "/api/v1/namespaces/a/pods/p/log?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // only read
	buf := make([]byte, 16)
	for _, line := range []string{"one", "two"} {
		next <- line
		n, err := resp.Body.Read(buf)
		if err != nil || string(buf[:n]) != line+"\n" {
			t.Fatalf("got %q, %v, want %q", buf[:n], err, line)
		}
	}
	close(next)
}

func TestBigBodiesPassWhole(t *testing.T) {
	const size = 40 << 20
	h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(
			w,
			`{"kind":"ConfigMap","apiVersion":"v1",`+
				`"metadata":{"name":"big","resourceVersion":"7","uid":"u"},"n":%d,"pad":"`,
			n,
		)
		_, _ = io.CopyN(w, zeros{}, size)
		_, _ = io.WriteString(w, `"}`)
	})
	resp, err := h.client(t, "").Post(
		h.server.URL+"/api/v1/namespaces/a/configmaps",
		"application/json",
		io.LimitReader(zeros{}, size),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // only read
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || n < size {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if w := h.writes(); len(w) != 1 || w[0].Code != http.StatusOK {
		t.Errorf("got %+v, want one write", w)
	}
}

func TestUpgradesPass(t *testing.T) {
	h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close() // the test ends
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
	})
	cfg := h.config(t, "")
	cfg.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, h.server.URL+"/api/v1/namespaces/a/pods/p/exec", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "SPDY/3.1")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // the test ends
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %s", resp.Status)
	}
	stream := resp.Body.(io.ReadWriter)
	_, _ = io.WriteString(stream, "hello\n")
	answer := make([]byte, len("echo hello\n"))
	if _, err := io.ReadFull(stream, answer); err != nil || string(answer) != "echo hello\n" {
		t.Errorf("got %q, %v", answer, err)
	}
	if w := h.writes(); len(w) != 0 {
		t.Errorf("an exec was recorded as a write: %+v", w)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // only read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestEarlyRefusal: a server may refuse a request before it has read the body. An HTTP/2 client
// then sends neither the rest of its body nor its end.
func TestEarlyRefusal(t *testing.T) {
	h := newHarness(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	})
	for _, path := range []string{
		"/api/v1/namespaces/a/configmaps", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
	} {
		body, feed := io.Pipe()
		resp, err := h.client(t, "").Post(h.server.URL+path, "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
		_ = feed.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("got %s", resp.Status)
		}
	}
}
