// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// theTrace is the run's span context in all tests.
var theTrace = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{0x4b, 15: 1}, SpanID: trace.SpanID{7: 9}, TraceFlags: trace.FlagsSampled,
})

// harness is an API server, a proxy in front of it, and the proxy's reports.
type harness struct {
	*Proxy
	server *httptest.Server
	path   string

	mu    sync.Mutex
	seen  []*observation.Write
	wrote []Written
}

// newHarness serves handler over TLS. Context "main" has the user "admin" with the token
// "user-secret"; context "second" has the user "other".
func newHarness(t *testing.T, handler http.HandlerFunc, change ...func(*clientcmdapi.Config, *Options)) *harness {
	t.Helper()
	h := &harness{server: httptest.NewUnstartedServer(handler)}
	h.server.EnableHTTP2 = true
	h.server.StartTLS()
	t.Cleanup(h.server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: h.server.URL, CertificateAuthorityData: ca}
	raw.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: "user-secret"}
	raw.AuthInfos["other"] = &clientcmdapi.AuthInfo{Username: "joe", Password: "joe-secret"}
	raw.Contexts["main"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "admin", Namespace: "shop"}
	raw.Contexts["second"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "other"}
	raw.CurrentContext = "main"
	opts := Options{
		Trace: theTrace,
		Emit: func(o *observation.Observation) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.seen = append(h.seen, o.Write)
		},
		Wrote: func(w Written) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.wrote = append(h.wrote, w)
		},
	}
	for _, f := range change {
		f(raw, &opts)
	}
	var err error
	opts.Kubeconfig, err = LoadKubeconfig(clientcmd.NewDefaultClientConfig(*raw, nil), Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if h.Proxy, err = Start(opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	h.path = filepath.Join(t.TempDir(), "config")
	if err := h.WriteKubeconfig(h.path); err != nil {
		t.Fatal(err)
	}
	return h
}

// config returns the client configuration of a program under lifeline run.
func (h *harness) config(t *testing.T, context string) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: h.path},
		&clientcmd.ConfigOverrides{CurrentContext: context},
	).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// client returns the HTTP client of such a program.
func (h *harness) client(t *testing.T, context string) *http.Client {
	t.Helper()
	c, err := rest.HTTPClientFor(h.config(t, context))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func (h *harness) writes() []*observation.Write {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*observation.Write(nil), h.seen...)
}
