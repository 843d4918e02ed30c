// SPDX-License-Identifier: Apache-2.0

package kind

import "strings"

// Part is a set of parts of an object, by their roles in reconciliation. Parts of the desired state
// are reconciled side by side: a change of one does not end the reconciliation of another.
type Part uint8

const (
	// Metadata is labels and annotations. They hold as soon as they are stored.
	Metadata Part = 1 << iota
	// Spec is the desired state that is in no part below.
	Spec
	// Template is the template of Pods.
	Template
	// Scale is the number of Pods.
	Scale

	// Bookkeeping stands for fields outside all parts: the cluster fills them in. They are not
	// desired state.
	Bookkeeping Part = 0
	// Everything is all parts.
	Everything = Metadata | Spec | Template | Scale
)

// Field is a field with a separate part.
type Field struct {
	Path string
	Part Part
}

// podFields are the parts of a controller of Pods.
var podFields = []Field{{"spec.template", Template}, {"spec.replicas", Scale}}

// bookkeeping are the beginnings of paths that are bookkeeping in every kind.
var bookkeeping = []string{
	"metadata.finalizers",
	"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
	"metadata.annotations[deployment.kubernetes.io/revision",
	"metadata.annotations[deployment.kubernetes.io/desired-replicas]",
	"metadata.annotations[deployment.kubernetes.io/max-replicas]",
	"metadata.annotations[deprecated.daemonset.template.generation]",
	"metadata.annotations[control-plane.alpha.kubernetes.io/leader]",
	"metadata.annotations[argocd.argoproj.io/refresh]", // a request to compare, which Argo CD removes
	"metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]",
	"metadata.annotations[pv.kubernetes.io/",
	"metadata.annotations[volume.kubernetes.io/",
	"metadata.annotations[volume.beta.kubernetes.io/",
	"metadata.annotations[volumes.kubernetes.io/",
	"metadata.annotations[node.alpha.kubernetes.io/ttl]",
	"metadata.annotations[csi.volume.kubernetes.io/",
}

// Whole returns the parts of the kind that are reconciled: all but its metadata.
func (k *Kind) Whole() Part {
	whole := Spec
	for _, f := range k.Parts {
		whole |= f.Part
	}
	return whole
}

// Part returns the part to which the field at path belongs.
func (k *Kind) Part(path string) Part {
	switch {
	case under(path, k.Filled), under(path, bookkeeping):
		return Bookkeeping
	case strings.HasPrefix(path, "metadata."):
		return Metadata
	}
	for _, f := range k.Parts {
		if under(path, []string{f.Path}) {
			return f.Part
		}
	}
	return Spec
}

// under reports whether the path is one of the fields, or below one. A field may end within
// brackets: it then stands for all keys with that beginning.
func under(path string, fields []string) bool {
	for _, field := range fields {
		rest, found := strings.CutPrefix(path, field)
		if found && (rest == "" || rest[0] == '.' || rest[0] == '[' || strings.Contains(field, "[")) {
			return true
		}
	}
	return false
}
