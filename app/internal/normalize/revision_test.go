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

// TestApplied: the tool that applies an object, by labels and annotations.
func TestApplied(t *testing.T) {
	deployment := object.Ref{
		Kind: object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web",
	}
	secret := object.Ref{Kind: kind.Secret.Kind, Namespace: "shop", Name: "sh.helm.release.v1.web.v12"}
	controlled := []object.Owner{{Kind: deployment.Kind, Name: "web", UID: "u", Controller: true}}
	for name, tt := range map[string]struct {
		ref                 object.Ref
		owners              []object.Owner
		labels, annotations map[string]string
		want                object.Name
	}{
		"none": {ref: deployment},
		"a Helm release": {
			ref:         deployment,
			annotations: map[string]string{annotationRelease: "web", annotationReleaseNamespace: "apps"},
			want:        kind.ReleaseName("apps", "web"),
		},
		"a copy of Helm's annotations": {
			ref: deployment, owners: controlled,
			annotations: map[string]string{annotationRelease: "web", annotationReleaseNamespace: "apps"},
		},
		"a hook of Helm": {
			ref: deployment, annotations: map[string]string{annotationHook: "pre-install"},
			want: kind.AnyRelease("shop"),
		},
		"a stored release": {ref: secret, want: kind.ReleaseName("shop", "web")},
		"a Kustomization": {
			ref:    deployment,
			labels: map[string]string{prefixKustomize + "name": "apps", prefixKustomize + "namespace": "flux-system"},
			want:   kind.KustomizationName("flux-system", "apps"),
		},
		"a HelmRelease": {
			ref: deployment,
			labels: map[string]string{prefixFluxHelm + "name": "apps",
				prefixFluxHelm + "namespace": "flux-system"},
			annotations: map[string]string{annotationRelease: "web", annotationReleaseNamespace: "apps"},
			want:        kind.HelmReleaseName("flux-system", "apps"),
		},
		"an Application": {
			ref: deployment, annotations: map[string]string{annotationTracking: "apps:apps/Deployment:shop/web"},
			want: kind.ApplicationName("apps"),
		},
		"an Application in another namespace": {
			ref: deployment, annotations: map[string]string{annotationTracking: "team_apps:apps/Deployment:shop/web"},
			want: kind.ApplicationName("apps"),
		},
		"the tracking ID of another object": {
			ref: deployment, annotations: map[string]string{annotationTracking: "apps:apps/Deployment:shop/api"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want []object.Relation
			if tt.want != (object.Name{}) {
				want = []object.Relation{{Type: object.Applied, To: tt.want}}
			}
			got := applied(&tt.ref, tt.owners, ofMetadata(tt.labels), ofMetadata(tt.annotations))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRelease: the revision of a stored Helm release.
func TestRelease(t *testing.T) {
	for name, tt := range map[string]struct {
		object, owner, status string
		want                  *observation.Revision
	}{
		"being installed": {"sh.helm.release.v1.web.v1", "helm", "pending-install",
			&observation.Revision{ID: "1", Phase: observation.RevisionPending}},
		"installed": {"sh.helm.release.v1.web.v1", "helm", "deployed",
			&observation.Revision{ID: "1", Phase: observation.RevisionApplied}},
		"replaced": {"sh.helm.release.v1.web.v1", "helm", "superseded",
			&observation.Revision{ID: "1", Phase: observation.RevisionApplied}},
		"failed": {"sh.helm.release.v1.web.v2", "helm", "failed",
			&observation.Revision{ID: "2", Phase: observation.RevisionFailed}},
		"being removed": {"sh.helm.release.v1.web.v2", "helm", "uninstalling",
			&observation.Revision{ID: "2", Phase: observation.RevisionRemoved}},
		"a name with .v": {"sh.helm.release.v1.my.v2.v3", "helm", "deployed",
			&observation.Revision{ID: "3", Phase: observation.RevisionApplied}},
		"not of Helm":       {"sh.helm.release.v1.web.v1", "somebody", "deployed", nil},
		"without a number":  {"sh.helm.release.v1.web.vx", "helm", "deployed", nil},
		"without a release": {"sh.helm.release.v1.v1", "helm", "deployed", nil},
		"another Secret":    {"password", "helm", "deployed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ref := object.Ref{Kind: kind.Secret.Kind, Namespace: "shop", Name: tt.object}
			got := release(&ref, map[string]string{"owner": tt.owner, "status": tt.status})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSync: the sync of an Argo CD Application, and the verdict on it.
func TestSync(t *testing.T) {
	asked := fields{"initiatedBy": fields{"username": "ann"}, "sync": fields{"revision": "abc"}}
	state := func(phase string) fields {
		return fields{"operationState": fields{"phase": phase, "operation": asked}}
	}
	for name, tt := range map[string]struct {
		operation, status fields
		want              *observation.Revision
		progress          observation.Progress
	}{
		"never": {nil, fields{}, nil, observation.ProgressCurrent},
		"requested": {asked, fields{}, &observation.Revision{ID: "abc", Phase: observation.RevisionPending,
			By: "ann"}, observation.ProgressInProgress},
		"running": {nil, state("Running"), &observation.Revision{ID: "abc", Phase: observation.RevisionPending,
			By: "ann"}, observation.ProgressInProgress},
		"done": {nil, state("Succeeded"), &observation.Revision{ID: "abc", Phase: observation.RevisionApplied,
			By: "ann"}, observation.ProgressCurrent},
		"failed": {nil, state("Failed"), &observation.Revision{ID: "abc", Phase: observation.RevisionFailed,
			By: "ann"}, observation.ProgressFailed},
		"without a revision": {
			fields{"sync": fields{}}, fields{},
			&observation.Revision{ID: "(default)", Phase: observation.RevisionPending}, observation.ProgressInProgress,
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := fields{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "status": tt.status,
				"metadata": fields{"name": "apps", "namespace": "argocd", "uid": "u", "resourceVersion": "7"},
			}
			if tt.operation != nil {
				app["operation"] = tt.operation
			}
			s := normalizer.Object(&unstructured.Unstructured{Object: app})
			if diff := cmp.Diff(tt.want, s.Revision); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s.Progress != tt.progress {
				t.Errorf("progress: got %s, want %s", s.Progress, tt.progress)
			}
		})
	}
}
