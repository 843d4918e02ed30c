// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/examples/head-operator/config"
)

func TestHeadDefaulter(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		want   []string // changed paths
	}{
		"Missing": {
			reason: "a Head without a number of replicas gets one",
			spec:   `{"image":"web:1"}`,
			want:   []string{"/spec/replicas"},
		},
		"Zero": {
			reason: "0 replicas stay",
			spec:   `{"image":"web:1","replicas":0}`,
		},
		"Unknown": {
			reason: "unknown fields stay",
			spec:   `{"image":"web:1","replicas":3,"later":true}`,
		},
	}
	scheme := runtime.NewScheme()
	if err := demov1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head := `{"apiVersion":"demo.lifeline.dev/v1alpha1","kind":"Head",` +
				`"metadata":{"name":"web"},"spec":` + tc.spec + `}`
			answer := admission.WithDefaulter(scheme, HeadDefaulter{}).Handle(t.Context(), admission.Request{
				AdmissionRequest: admissionv1.AdmissionRequest{
					Operation: admissionv1.Create,
					Object:    runtime.RawExtension{Raw: []byte(head)},
				},
			})
			if !answer.Allowed {
				t.Fatalf("\n%s\nrefused: %v", tc.reason, answer.Result)
			}
			var got []string
			for _, op := range answer.Patches {
				got = append(got, op.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nchanged paths: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestHeadPath checks that the server uses the path in the webhook configuration.
func TestHeadPath(t *testing.T) {
	var hooks admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(config.Webhook, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks.Webhooks) != 1 {
		t.Fatalf("want one webhook, got %d", len(hooks.Webhooks))
	}
	if got := *hooks.Webhooks[0].ClientConfig.Service.Path; got != HeadPath {
		t.Errorf("path in the configuration = %s, on the server = %s", got, HeadPath)
	}
}
