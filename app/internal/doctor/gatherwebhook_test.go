// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/webhook"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// TestGatherWebhook queries an API server with an installed webhook, and connects to that webhook.
func TestGatherWebhook(t *testing.T) {
	hook := httptest.NewUnstartedServer(http.NotFoundHandler())
	hook.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	hook.StartTLS()
	t.Cleanup(hook.Close)
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	when := hook.Certificate().NotBefore.Add(time.Hour)
	service := registration.Service{NamespacedName: types.NamespacedName{Namespace: "tracing", Name: "hook"}, Port: 443}
	for name, tc := range map[string]struct {
		reason  string
		options registration.Options
		status  int
		check   func(*testing.T, Known[*Webhook])
	}{
		"fits": {"what it serves is what it is told", registration.Options{URL: hook.URL + webhook.Path, CA: own}, 0,
			func(t *testing.T, got Known[*Webhook]) {
				w := got.Value
				if w.Served.Value.Wrong != "" || !w.Served.Is() ||
					!w.Served.Value.Until.Equal(hook.Certificate().NotAfter) || w.Authorities != 1 ||
					w.Authority != registration.CAGiven {
					t.Errorf("got %+v", w)
				}
				if w.Calls.Value != (Calls{All: 30, Failed: 2}) || len(w.Differs) > 0 {
					t.Errorf("got %+v", w)
				}
			}},
		"another": {"by authorities of the machine", registration.Options{URL: hook.URL + webhook.Path}, 0,
			func(t *testing.T, got Known[*Webhook]) {
				if w := got.Value; !strings.Contains(w.Served.Value.Wrong, "unknown authority") || w.Authorities != 0 ||
					w.Authority != registration.CAManaged {
					t.Errorf("got %+v", w)
				}
			}},
		"nowhere": {"nothing is concluded", registration.Options{URL: "https://127.0.0.1:1" + webhook.Path, CA: own}, 0,
			func(t *testing.T, got Known[*Webhook]) {
				if w := got.Value; w.Served.Is() || w.Ready.Is() {
					t.Errorf("got %+v", w)
				}
			}},
		"service": {"its endpoints are counted", registration.Options{Service: service}, 0,
			func(t *testing.T, got Known[*Webhook]) {
				if w := got.Value; w.Where != "tracing/hook:443" || w.Ready != known(2) || w.Served.Is() {
					t.Errorf("got %+v", w)
				}
			}},
		"forbidden": {"", registration.Options{Service: service}, http.StatusForbidden,
			func(t *testing.T, got Known[*Webhook]) {
				if got.Unknown != "you may not list mutatingwebhookconfigurations" {
					t.Errorf("got %+v", got)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Name, tc.options.Namespace, tc.options.Observe = "lifeline", "lifeline", true
			c, err := json.Marshal(registration.Configuration(tc.options))
			if err != nil {
				t.Fatal(err)
			}
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":
					if tc.status != 0 {
						w.WriteHeader(tc.status)
						_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure",` +
							`"reason":"Forbidden","code":403}`))
						return
					}
					_, _ = w.Write([]byte(`{"kind":"MutatingWebhookConfigurationList",` +
						`"apiVersion":"admissionregistration.k8s.io/v1","metadata":{},"items":[` + string(c) + `]}`))
				case "/api/v1/namespaces/tracing/services/hook":
					_, _ = w.Write([]byte(`{"kind":"Service","apiVersion":"v1","metadata":{"name":"hook"}}`))
				case "/apis/discovery.k8s.io/v1/namespaces/tracing/endpointslices":
					_, _ = w.Write([]byte(`{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1",` +
						`"metadata":{},"items":[{"addressType":"IPv4","endpoints":[
						{"addresses":["192.0.2.1"],"conditions":{"ready":true}},{"addresses":["192.0.2.2"]},` +
						`{"addresses":["192.0.2.3"],"conditions":{"ready":false}}]}]}`))
				case "/metrics":
					_, _ = w.Write([]byte(`# HELP apiserver_admission_webhook_request_total x
apiserver_admission_webhook_request_total{code="200",name="objects.webhook.lifeline.dev",operation="CREATE",` +
						`rejected="false",type="admit"} 20
apiserver_admission_webhook_request_total{code="200",name="observed.webhook.lifeline.dev",operation="DELETE",` +
						`rejected="false",type="admit"} 10
apiserver_admission_webhook_request_total{code="200",name="other.example.com",operation="CREATE",` +
						`rejected="false",type="admit"} 500
apiserver_admission_webhook_fail_open_count{name="objects.webhook.lifeline.dev",type="admit"} 2 1700000000
`))
				default:
					w.WriteHeader(http.StatusNotFound)
					_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound",` +
						`"code":404}`))
				}
			}))
			defer api.Close()
			conf := &rest.Config{Host: api.URL}
			conf.AcceptContentTypes, conf.ContentType = "application/json", "application/json"
			over, err := rest.HTTPClientFor(conf)
			if err != nil {
				t.Fatal(err)
			}
			defer over.CloseIdleConnections()
			g := &gatherer{conf: conf, http: over, now: func() time.Time { return when }}
			if g.client, err = kubernetes.NewForConfigAndClient(conf, over); err != nil {
				t.Fatal(err)
			}
			tc.check(t, g.webhook(context.Background()))
		})
	}
}
