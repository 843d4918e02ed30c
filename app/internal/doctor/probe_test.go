// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// probedAPI is an API server that calls a webhook from the second request on.
type probedAPI struct {
	t *testing.T
	// forbidden is a refused resource. said is the failure of the webhook's call; if it is empty, the webhook gives
	// the object a context.
	forbidden, said string
	registered      admissionregistrationv1.MutatingWebhookConfiguration
	asked, deleted  atomic.Int32
}

func (a *probedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			a.t.Error(err)
		}
	}
	refuse := func(code int, reason metav1.StatusReason, message string) {
		answer(code, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Message: message, Reason: reason, Code: int32(code),
		})
	}
	switch {
	case a.forbidden != "" && strings.HasSuffix(r.URL.Path, "/"+a.forbidden):
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/mutatingwebhookconfigurations"):
		if err := json.NewDecoder(r.Body).Decode(&a.registered); err != nil {
			a.t.Error(err)
		}
		answer(http.StatusCreated, &a.registered)
	case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/"+a.registered.Name):
		a.deleted.Add(1)
		answer(http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	case r.Method == http.MethodPost && r.URL.Path == "/api/v1/namespaces/tracing/configmaps":
		if r.URL.Query().Get("dryRun") != "All" {
			a.t.Error("the object was not created as a dry run")
		}
		var m corev1.ConfigMap
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			a.t.Error(err)
		}
		hook := a.registered.Webhooks[0]
		if diff := cmp.Diff(hook.ObjectSelector.MatchLabels, m.Labels); diff != "" {
			a.t.Errorf("the webhook does not select the object: %s", diff)
		}
		switch {
		case a.asked.Add(1) == 1:
			answer(http.StatusCreated, &m)
		case a.said != "":
			refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError,
				`Internal error occurred: failed calling webhook "objects.webhook.lifeline.dev": `+a.said)
		default:
			m.Annotations = map[string]string{lifeline.ContextKey: "00-1-1-01"}
			answer(http.StatusCreated, &m)
		}
	default:
		a.t.Errorf("unexpected: %s %s", r.Method, r.URL)
	}
}

// TestProbe: the API server's reason gives the result. The configuration selects one object, and is deleted.
func TestProbe(t *testing.T) {
	const where = "tracing/hook:443"
	for name, tc := range map[string]struct {
		reason, forbidden, said string
		want                    Check
		asked, deleted          int32
	}{
		"certificate": {
			reason: "the configuration has no authority",
			said: `failed to call webhook: Post "https://hook.tracing.svc:443/admission": tls: failed to verify ` +
				`certificate: x509: certificate signed by unknown authority`,
			want:  Check{Name: "webhook's path", Status: OK, Found: "an API server has reached " + where},
			asked: 2, deleted: 1,
		},
		"context": {
			reason: "the API server's machine has the authority",
			want:   Check{Name: "webhook's path", Status: OK, Found: "an API server has reached " + where},
			asked:  2, deleted: 1,
		},
		"timeout": {
			reason: "a firewall",
			said:   "failed to call webhook: context deadline exceeded",
			want: Check{
				Name: "webhook's path", Status: Missing, Lose: loseWebhook,
				Found: "the API server does not reach " + where + ": failed to call webhook: context deadline exceeded",
				Add:   []Lines{pathLines(Path{Where: where})},
			},
			asked: 2, deleted: 1,
		},
		"no Pod": {
			reason: "a Service without a server",
			said:   `failed to call webhook: no endpoints available for service "hook"`,
			want: Check{
				Name: "webhook's path", Status: Missing, Lose: loseWebhook,
				Found: "the API server does not reach " + where +
					`: failed to call webhook: no endpoints available for service "hook"`,
				Add: []Lines{{
					Where: "a shell; the Service needs a Pod that answers the webhook (chart: webhook.enabled=true)",
					Text:  "kubectl -n tracing get services,endpointslices,pods\n",
				}},
			},
			asked: 2, deleted: 1,
		},
		"no right": {
			reason: "a user who may not register", forbidden: "mutatingwebhookconfigurations",
			want: Check{
				Name: "webhook's path", Status: Unknown, Found: "you may not create mutatingwebhookconfigurations",
			},
		},
		"half a right": {
			reason: "the configuration is deleted nevertheless", forbidden: "configmaps",
			want: Check{
				Name: "webhook's path", Status: Unknown, Found: "you may not create configmaps in tracing",
			},
			deleted: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := &probedAPI{t: t, forbidden: tc.forbidden, said: tc.said}
			server := httptest.NewServer(api)
			defer server.Close()
			client, err := kubernetes.NewForConfigAndClient(&rest.Config{
				Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
			}, server.Client())
			if err != nil {
				t.Fatal(err)
			}
			to, err := registration.Target("tracing/hook")
			if err != nil {
				t.Fatal(err)
			}
			path := probe(t.Context(), &gatherer{client: client}, *to)
			if diff := cmp.Diff(tc.want, checkPath(&Facts{Cluster: known(Cluster{Path: &path})})); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if api.asked.Load() != tc.asked || api.deleted.Load() != tc.deleted {
				t.Errorf("%s: %d objects and %d deletions, want %d and %d",
					tc.reason, api.asked.Load(), api.deleted.Load(), tc.asked, tc.deleted)
			}
		})
	}
}
