// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestCertificate: the issuances of a Certificate of cert-manager, and the verdict on it.
func TestCertificate(t *testing.T) {
	condition := func(typ, status, reason string) any {
		return fields{"type": typ, "status": status, "reason": reason, "observedGeneration": int64(1)}
	}
	for name, tt := range map[string]struct {
		reason   string
		status   fields
		want     *observation.Revision
		progress observation.Progress
	}{
		"new": {
			reason: "its controllers have not looked at it", progress: observation.ProgressInProgress,
		},
		"first issuance": {
			reason:   "the condition Ready comes later",
			status:   fields{"conditions": []any{condition("Issuing", "True", "DoesNotExist")}},
			want:     &observation.Revision{ID: "1", Phase: observation.RevisionPending},
			progress: observation.ProgressInProgress,
		},
		"renewal": {
			reason: "it is ready all the time",
			status: fields{"revision": int64(3), "conditions": []any{
				condition("Ready", "True", "Ready"), condition("Issuing", "True", "ManuallyTriggered"),
			}},
			want:     &observation.Revision{ID: "4", Phase: observation.RevisionPending},
			progress: observation.ProgressInProgress,
		},
		"failed": {
			reason: "cert-manager gives up for an hour",
			status: fields{"revision": int64(3), "failedIssuanceAttempts": int64(1), "conditions": []any{
				condition("Ready", "True", "Ready"), condition("Issuing", "False", "Failed"),
			}},
			want:     &observation.Revision{ID: "4", Phase: observation.RevisionFailed},
			progress: observation.ProgressFailed,
		},
		"with a left-over private key": {
			reason: "its removal belongs to the issuance",
			status: fields{
				"revision": int64(4), "nextPrivateKeySecretName": "web-x7f2q",
				"conditions": []any{condition("Ready", "True", "Ready")},
			},
			want:     &observation.Revision{ID: "4", Phase: observation.RevisionApplied},
			progress: observation.ProgressInProgress,
		},
		"issued": {
			reason:   "nothing is left to do",
			status:   fields{"revision": int64(4), "conditions": []any{condition("Ready", "True", "Ready")}},
			want:     &observation.Revision{ID: "4", Phase: observation.RevisionApplied},
			progress: observation.ProgressCurrent,
		},
		"not ready": {
			reason:   "a Certificate without its Secret is issued next",
			status:   fields{"revision": int64(4), "conditions": []any{condition("Ready", "False", "DoesNotExist")}},
			want:     &observation.Revision{ID: "4", Phase: observation.RevisionApplied},
			progress: observation.ProgressInProgress,
		},
	} {
		t.Run(name, func(t *testing.T) {
			certificate := fields{
				"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "status": tt.status,
				"metadata": fields{
					"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": int64(1),
				},
			}
			got := normalizer.Object(&unstructured.Unstructured{Object: certificate})
			if diff := cmp.Diff(tt.want, got.Revision); diff != "" {
				t.Errorf("%s: revision (-want +got):\n%s", tt.reason, diff)
			}
			if got.Progress != tt.progress {
				t.Errorf("%s: progress %s, want %s", tt.reason, got.Progress, tt.progress)
			}
		})
	}
}

// TestIssued: the Certificate of a Secret, by the annotation of cert-manager.
func TestIssued(t *testing.T) {
	secret := object.Ref{Kind: kind.Secret.Kind, Namespace: "shop", Name: "web-tls"}
	certificate := object.Kind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	named := map[string]string{annotationCertificate: "web"}
	for name, tt := range map[string]struct {
		ref         object.Ref
		owners      []object.Owner
		annotations map[string]string
		want        []object.Relation
	}{
		"of a Certificate": {
			ref: secret, annotations: named,
			want: []object.Relation{{Type: object.Issued, To: kind.CertificateName("shop", "web")}},
		},
		"of nothing": {ref: secret},
		"owned": {
			ref: secret, annotations: named,
			owners: []object.Owner{{Kind: certificate, Name: "web", UID: "u", Controller: true}},
		},
		"a copy on another kind": {
			ref: object.Ref{Kind: kind.ConfigMap.Kind, Namespace: "shop", Name: "web"}, annotations: named,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, issued(&tt.ref, tt.owners, ofMetadata(tt.annotations))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
