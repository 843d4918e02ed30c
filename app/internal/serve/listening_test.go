// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// apiOf returns the listener of the API, and its gate.
func apiOf(c config.APIConfiguration) (*listening, *gate, error) {
	m, _ := noMetrics()
	g := &gate{metrics: m.api}
	l, err := newAPIListener(c, g, slog.New(slog.DiscardHandler), nil)
	return l, g, err
}

// TestOpenAPI: the listener itself refuses an address beyond loopback without TLS and a token.
func TestOpenAPI(t *testing.T) {
	files := httpservetest.New(t).Files(t, nil)
	tls := config.TLSConfiguration{CertFile: files.CertFile, KeyFile: files.KeyFile}
	token := tokenFile(t)
	for name, tc := range map[string]struct {
		reason string
		api    config.APIConfiguration
		err    string // empty for none
	}{
		"loopback": {"the default", config.APIConfiguration{Address: "127.0.0.1:0"}, ""},
		"open": {
			"every client could read every trace",
			config.APIConfiguration{Address: ":0"},
			"cannot listen for the API on \":0\": an address other than loopback needs both a certificate and a " +
				"token file (api.address, api.tls, api.tokenFile)",
		},
		"only TLS":      {"no client is refused", config.APIConfiguration{Address: ":0", TLS: tls}, "needs both"},
		"only a token":  {"it is readable", config.APIConfiguration{Address: ":0", TokenFile: token}, "needs both"},
		"TLS and token": {"", config.APIConfiguration{Address: ":0", TLS: tls, TokenFile: token}, ""},
		"no token": {
			"the field is named",
			config.APIConfiguration{Address: "127.0.0.1:0", TokenFile: "/no/such"},
			"api.tokenFile",
		},
		"no file": {
			"the field is named",
			config.APIConfiguration{
				Address: "127.0.0.1:0",
				TLS:     config.TLSConfiguration{CertFile: "/no/such", KeyFile: "/no/such"},
			},
			"api.tls",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, _, err := apiOf(tc.api)
			if err == nil {
				if err = l.Start(t.Context()); err == nil {
					must(t, l.Stop())
				}
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// TestTakenAddress: the errors of both listeners are the same, except for the field.
func TestTakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	people, _, err := apiOf(config.APIConfiguration{Address: taken.Addr().String()})
	must(t, err)
	scrapers := newTelemetryListener(
		config.TelemetryConfiguration{Address: taken.Addr().String()}, nil, nil, slog.New(slog.DiscardHandler), nil,
	)
	for want, l := range map[string]*listening{
		"the API % (api.address, api.tls, api.tokenFile)": people,
		"metrics and health % (telemetry.address)":        scrapers,
	} {
		name, fields, _ := strings.Cut(want, "%")
		err := l.Start(t.Context())
		if err == nil ||
			!strings.HasPrefix(err.Error(), "cannot listen for "+name+"(choose a free address, or stop the process") ||
			!strings.HasSuffix(err.Error(), fields) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// aToken is a token, and tokenFile its file.
const aToken = "0123456789abcdef"

func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte(aToken+"\n"))
	return file
}

// TestAPIWithTLS: with a certificate the API answers over TLS, and not in plaintext. It requires its token.
func TestAPIWithTLS(t *testing.T) {
	ca := httpservetest.New(t)
	files := ca.Files(t, nil)
	l, _, err := apiOf(config.APIConfiguration{
		Address: ":0", TokenFile: tokenFile(t),
		TLS: config.TLSConfiguration{CertFile: files.CertFile, KeyFile: files.KeyFile},
	})
	must(t, err)
	must(t, l.Start(t.Context()))
	defer func() { must(t, l.Stop()) }()
	_, port, _ := strings.Cut(strings.TrimPrefix(l.address.String(), "[::]"), ":")
	ask := func(scheme, authorization string) (*http.Response, string) {
		tr := &http.Transport{TLSClientConfig: ca.Trusting()}
		defer tr.CloseIdleConnections()
		req, err := http.NewRequestWithContext(
			t.Context(), http.MethodGet, scheme+"://127.0.0.1:"+port+"/api/v1/info", nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", authorization)
		resp, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp, string(text)
	}
	const starting = "lifeline serve is starting"
	if resp, text := ask("https", "Bearer "+aToken); resp.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(text, starting) {
		t.Errorf("with the token: %d %s", resp.StatusCode, text)
	}
	if resp, text := ask("http", "Bearer "+aToken); resp.StatusCode != http.StatusBadRequest ||
		strings.Contains(text, starting) {
		t.Errorf("in plaintext: %d %s", resp.StatusCode, text)
	}
	for _, authorization := range []string{"", "Bearer " + strings.ToUpper(aToken), "Basic " + aToken} {
		resp, text := ask("https", authorization)
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "Bearer" ||
			!strings.Contains(
				text,
				`"code":401`,
			) || strings.Contains(text, aToken) || strings.Contains(text, starting) {
			t.Errorf("%q: %d %v %s", authorization, resp.StatusCode, resp.Header, text)
		}
	}
}
