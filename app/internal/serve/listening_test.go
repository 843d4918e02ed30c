// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// apiOf returns a server with that section api, for its listener.
func apiOf(c config.APIConfiguration) *server {
	s := &server{log: slog.New(slog.DiscardHandler), gate: gate{metrics: telemetry.NewMetrics(nil)}}
	all := config.Default()
	all.API = c
	s.conf.Store(all)
	return s
}

// TestOpenAPI: the listener itself refuses plaintext beyond loopback, unless the configuration allows it.
func TestOpenAPI(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		api    config.APIConfiguration
		err    string // empty for none
	}{
		"loopback": {"the default", config.APIConfiguration{Address: "127.0.0.1:0"}, ""},
		"open": {
			"every client could read every trace",
			config.APIConfiguration{Address: ":0"},
			"cannot listen for the API on \":0\" without TLS",
		},
		"insecure": {"it is configured", config.APIConfiguration{Address: ":0", Insecure: true}, ""},
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
			ln, err := apiOf(tc.api).listenAPI(t.Context())
			if err == nil {
				_ = ln.Close()
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
	s := apiOf(config.APIConfiguration{Address: taken.Addr().String()})
	c := *s.conf.Load()
	c.Telemetry.Address = taken.Addr().String()
	s.conf.Store(&c)
	for want, listen := range map[string]func(context.Context) (net.Listener, error){
		"the API % (api.address, api.tls)":         s.listenAPI,
		"metrics and health % (telemetry.address)": s.listenTelemetry,
	} {
		name, fields, _ := strings.Cut(want, "%")
		_, err := listen(t.Context())
		if err == nil ||
			!strings.HasPrefix(err.Error(), "cannot listen for "+name+"(choose a free address, or stop the process") ||
			!strings.HasSuffix(err.Error(), fields) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAPIWithTLS: with a certificate the API answers over TLS, and not in plaintext.
func TestAPIWithTLS(t *testing.T) {
	ca := httpservetest.New(t)
	files := ca.Files(t, nil)
	s := apiOf(
		config.APIConfiguration{
			Address: ":0",
			TLS:     config.TLSConfiguration{CertFile: files.CertFile, KeyFile: files.KeyFile},
		},
	)
	ln, err := s.listenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- httpserve.Serve(ctx, ln, &s.gate) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	_, port, _ := strings.Cut(strings.TrimPrefix(ln.Addr().String(), "[::]"), ":")
	for scheme, want := range map[string]int{"https": http.StatusServiceUnavailable, "http": http.StatusBadRequest} {
		tr := &http.Transport{TLSClientConfig: ca.Trusting()}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get(scheme + "://127.0.0.1:" + port + "/api/v1/info")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want ||
			(scheme == "https") != strings.Contains(string(text), "lifeline serve is starting") {
			t.Errorf("%s: %d %s", scheme, resp.StatusCode, text)
		}
	}
}
