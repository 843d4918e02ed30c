// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Delivery is a tool of continuous delivery: it applies many objects as one revision.
type Delivery struct {
	// Managers are its field managers and the programs in its user agents.
	Managers []string
	// Personal means that a person runs the tool. Its requests are then those of the person.
	Personal bool
}

// The tools of delivery.
var (
	helm      = Delivery{Managers: []string{"helm", "Helm"}, Personal: true}
	kustomize = Delivery{Managers: []string{"kustomize-controller"}}
	fluxHelm  = Delivery{Managers: []string{"helm-controller"}}
	argo      = Delivery{Managers: []string{"argocd-controller", "argocd-application-controller"}}
)

// API groups of the tools of delivery. That of Helm stands for releases: Helm has no custom
// resources.
const (
	groupHelm      = "helm.sh"
	groupKustomize = "kustomize.toolkit.fluxcd.io"
	groupFluxHelm  = "helm.toolkit.fluxcd.io"
	groupSource    = "source.toolkit.fluxcd.io"
	groupArgo      = "argoproj.io"
)

// DeliveryOf returns the tool that applies the objects with a relation to the name, or nil.
func DeliveryOf(n object.Name) *Delivery {
	switch {
	case n.Group == groupHelm:
		return &helm
	case n.Group == groupKustomize:
		return &kustomize
	case n.Group == groupFluxHelm:
		return &fluxHelm
	case n.Group == groupArgo && n.Kind == "Application":
		return &argo
	}
	return nil
}

// Is reports whether the field manager, or the program of a user agent, is that of the tool.
func (d *Delivery) Is(manager string) bool { return slices.Contains(d.Managers, manager) }

// IsSource reports whether the kind is a source of revisions: of Flux.
func IsSource(k object.Kind) bool { return k.Group == groupSource }

// IsKustomization reports whether the kind is the Kustomization of Flux.
func IsKustomization(k object.Kind) bool {
	return k.Group == groupKustomize && k.Kind == "Kustomization"
}

// IsApplication reports whether the kind is the Application of Argo CD.
func IsApplication(k object.Kind) bool { return k.Group == groupArgo && k.Kind == "Application" }

// IsRollout reports whether the kind is the Rollout of Argo Rollouts.
func IsRollout(k object.Kind) bool { return k.Group == groupArgo && k.Kind == "Rollout" }

// SourceName returns the name of a source of Flux.
func SourceName(kind, namespace, name string) object.Name {
	return object.Name{Group: groupSource, Kind: kind, Namespace: namespace, Name: name}
}

// KustomizationName returns the name of a Kustomization of Flux.
func KustomizationName(namespace, name string) object.Name {
	return object.Name{Group: groupKustomize, Kind: "Kustomization", Namespace: namespace, Name: name}
}

// HelmReleaseName returns the name of a HelmRelease of Flux.
func HelmReleaseName(namespace, name string) object.Name {
	return object.Name{Group: groupFluxHelm, Kind: "HelmRelease", Namespace: namespace, Name: name}
}

// ApplicationName returns the name of an Application of Argo CD as in the metadata of its objects:
// without the namespace.
func ApplicationName(name string) object.Name {
	return object.Name{Group: groupArgo, Kind: "Application", Name: name}
}

// ReleaseName returns the name of a Helm release.
func ReleaseName(namespace, name string) object.Name {
	return object.Name{Group: groupHelm, Kind: "Release", Namespace: namespace, Name: name}
}

// AnyRelease returns the common name of the Helm releases of a namespace. A hook does not name its
// release. No release has such a name.
func AnyRelease(namespace string) object.Name { return ReleaseName(namespace, "*") }

// releasePrefix begins the names of the objects in which Helm stores its releases.
const releasePrefix = "sh.helm.release.v1."

// Release returns the name and the revision of the Helm release that is stored in an object of that
// kind and name: "sh.helm.release.v1.web.v3" is revision "3" of "web". ok is false for all others.
func Release(k object.Kind, name string) (release, revision string, ok bool) {
	rest, found := strings.CutPrefix(name, releasePrefix)
	if !found || !Secret.Is(k) && !ConfigMap.Is(k) {
		return "", "", false
	}
	i := strings.LastIndex(rest, ".v")
	if i <= 0 || !isNumber(rest[i+len(".v"):]) {
		return "", "", false
	}
	return rest[:i], rest[i+len(".v"):], true
}
