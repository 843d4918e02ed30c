// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Labels and annotations of the tools of continuous delivery.
const (
	annotationRelease          = "meta.helm.sh/release-name"
	annotationReleaseNamespace = "meta.helm.sh/release-namespace"
	annotationHook             = "helm.sh/hook"
	annotationTracking         = "argocd.argoproj.io/tracking-id"
	prefixKustomize            = "kustomize.toolkit.fluxcd.io/"
	prefixFluxHelm             = "helm.toolkit.fluxcd.io/"
)

// applied returns the relation of an object to the object of the tool that applies it, by the
// labels and annotations of the tool; nothing for an object without one. An object with a
// controller has copies of its owner's annotations.
func applied(ref *object.Ref, owners []object.Owner, label, annotation func(string) string) []object.Relation {
	if object.ControllerOf(owners) != nil {
		return nil
	}
	var to object.Name
	switch release, _, isRelease := kind.Release(ref.Kind, ref.Name); {
	case isRelease:
		to = kind.ReleaseName(ref.Namespace, release)
	case label(prefixKustomize+"name") != "":
		to = kind.KustomizationName(label(prefixKustomize+"namespace"), label(prefixKustomize+"name"))
	case label(prefixFluxHelm+"name") != "":
		to = kind.HelmReleaseName(label(prefixFluxHelm+"namespace"), label(prefixFluxHelm+"name"))
	case annotation(annotationRelease) != "":
		to = kind.ReleaseName(annotation(annotationReleaseNamespace), annotation(annotationRelease))
	case annotation(annotationHook) != "":
		to = kind.AnyRelease(ref.Namespace)
	default:
		app, ok := application(ref, annotation(annotationTracking))
		if !ok {
			return nil
		}
		to = kind.ApplicationName(app)
	}
	to.Namespace, to.Name = intern(to.Namespace), intern(to.Name)
	return []object.Relation{{Type: object.Applied, To: to}}
}

// application returns the name of the Argo CD Application in the tracking ID of an object, such as
// "web:apps/Deployment:default/web". The ID of another object is a copy, and does not count.
func application(ref *object.Ref, tracking string) (name string, ok bool) {
	app, of, found := strings.Cut(tracking, ":")
	if !found || of != ref.Group+"/"+ref.Kind.Kind+":"+ref.Namespace+"/"+ref.Name {
		return "", false
	}
	if _, own, inNamespace := strings.Cut(app, "_"); inNamespace {
		app = own // namespace_name of an Application outside Argo CD's namespace
	}
	return app, app != ""
}

// release returns the revision of the Helm release stored in an object; nil for any other object.
func release(ref *object.Ref, labels map[string]string) *observation.Revision {
	_, id, ok := kind.Release(ref.Kind, ref.Name)
	if !ok || labels["owner"] != "helm" {
		return nil
	}
	r := &observation.Revision{ID: id}
	switch status := labels["status"]; {
	case strings.HasPrefix(status, "pending-"):
		r.Phase = observation.RevisionPending
	case status == "failed":
		r.Phase = observation.RevisionFailed
	case status == "uninstalling":
		r.Phase = observation.RevisionRemoved
	default:
		r.Phase = observation.RevisionApplied
	}
	return r
}

// withoutRelease removes the content of a stored Helm release from m, and the labels with its
// progress. Both are its status.
func withoutRelease(m fields) {
	delete(m, observation.PathData)
	labels := sub(sub(m, "metadata"), "labels")
	for _, label := range []string{"status", "modifiedAt", "createdAt"} {
		delete(labels, label)
	}
}

// revision returns the revision of an object of Flux, Argo CD or cert-manager; nil for any other
// object, and before the first revision.
func revision(obj fields, of object.Kind) *observation.Revision {
	status := sub(obj, "status")
	r := observation.Revision{}
	switch {
	case kind.IsSource(of):
		r.ID, r.Phase = text(sub(status, "artifact"), "revision"), observation.RevisionPublished
	case kind.IsKustomization(of):
		r.ID, r.Phase = text(status, "lastAttemptedRevision"), attempt(items(status, "conditions"))
	case kind.IsApplication(of):
		r = syncOf(obj)
	case kind.Certificate.Is(of):
		r = issuanceOf(status)
	}
	if r.ID == "" {
		return nil
	}
	return &r
}

// attempt returns the phase of a revision from the conditions of a Kustomization.
func attempt(conditions []any) observation.RevisionPhase {
	phase := observation.RevisionPending
	for _, c := range conditions {
		m, _ := c.(fields)
		switch is, typ := raw(m, "status"), raw(m, "type"); {
		case typ == "Reconciling" && is == "True":
			return observation.RevisionPending
		case typ == "Ready" && is == "True":
			phase = observation.RevisionApplied
		case typ == "Ready" && is == "False":
			phase = observation.RevisionFailed
		}
	}
	return phase
}

// syncOf returns the requested or the last sync of an Argo CD Application.
func syncOf(obj fields) observation.Revision {
	state := sub(sub(obj, "status"), "operationState")
	operation, asked := sub(state, "operation"), sub(obj, "operation")
	r := observation.Revision{Phase: observation.RevisionApplied}
	switch raw(state, "phase") {
	case "Failed", "Error":
		r.Phase = observation.RevisionFailed
	case "Running", "Terminating":
		r.Phase = observation.RevisionPending
	}
	if asked != nil {
		operation, r.Phase = asked, observation.RevisionPending
	}
	r.ID = cmp.Or(text(sub(operation, "sync"), "revision"), text(sub(state, "syncResult"), "revision"))
	r.By = text(sub(operation, "initiatedBy"), "username")
	r.Heals = number(sub(operation, "sync"), "autoHealAttemptsCount") > 0
	if r.ID == "" && r.Phase == observation.RevisionPending {
		r.ID = "(default)" // the sync asks for the revision in the spec
	}
	return r
}

// sourceOf returns the relation of a Kustomization or HelmRelease to its source.
func sourceOf(obj fields, ref *object.Ref) []object.Relation {
	if !kind.IsKustomization(ref.Kind) {
		return nil
	}
	source := sub(sub(obj, "spec"), "sourceRef")
	name := word(source, "name")
	if name == "" {
		return nil
	}
	to := kind.SourceName(word(source, "kind"), cmp.Or(word(source, "namespace"), ref.Namespace), name)
	return []object.Relation{{Type: object.Source, To: to}}
}

// inMetadata returns a function for the values of labels, or of annotations, in decoded metadata.
func inMetadata(meta fields, part string) func(string) string {
	m := sub(meta, part)
	return func(key string) string {
		value, _ := m[key].(string)
		return object.Bound(value)
	}
}

// ofMetadata is inMetadata for an object that was read as metadata only.
func ofMetadata(m map[string]string) func(string) string {
	return func(key string) string { return object.Bound(m[key]) }
}

// deliver records the release of an object that was read as metadata only.
func deliver(s *observation.State, m *metav1.PartialObjectMetadata) {
	annotation := ofMetadata(m.Annotations)
	s.Relations = applied(&s.Ref, s.Owners, ofMetadata(m.Labels), annotation)
	s.Relations = append(s.Relations, issued(&s.Ref, s.Owners, annotation)...)
	if s.Revision = release(&s.Ref, m.Labels); s.Revision == nil {
		return
	}
	s.Reconciled = true
	switch s.Revision.Phase {
	case observation.RevisionPending:
		s.Progress = observation.ProgressInProgress
	case observation.RevisionFailed:
		s.Progress = observation.ProgressFailed
	case observation.RevisionRemoved, observation.RevisionApplied, observation.RevisionPublished:
	}
}
