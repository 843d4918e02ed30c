// SPDX-License-Identifier: Apache-2.0

package kind

import "strings"

// Part is a part of an object, by its role in reconciliation.
type Part string

const (
	// Bookkeeping is filled in by the cluster. It expresses no wish of a user.
	Bookkeeping Part = "bookkeeping"
	// Metadata is labels and annotations. They hold as soon as they are stored.
	Metadata Part = "metadata"
	// Spec is the remaining desired state.
	Spec Part = "spec"
)

// bookkeeping are the beginnings of paths that are bookkeeping in every kind.
var bookkeeping = []string{
	"metadata.finalizers",
	"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
	"metadata.annotations[deployment.kubernetes.io/revision",
	"metadata.annotations[deployment.kubernetes.io/desired-replicas]",
	"metadata.annotations[deployment.kubernetes.io/max-replicas]",
	"metadata.annotations[deprecated.daemonset.template.generation]",
	"metadata.annotations[control-plane.alpha.kubernetes.io/leader]",
	"metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]",
	"metadata.annotations[pv.kubernetes.io/",
	"metadata.annotations[volume.kubernetes.io/",
	"metadata.annotations[volume.beta.kubernetes.io/",
	"metadata.annotations[volumes.kubernetes.io/",
	"metadata.annotations[node.alpha.kubernetes.io/ttl]",
	"metadata.annotations[csi.volume.kubernetes.io/",
}

// Part returns the part to which the field at path belongs.
func (k *Kind) Part(path string) Part {
	switch {
	case under(path, k.Filled), under(path, bookkeeping):
		return Bookkeeping
	case strings.HasPrefix(path, "metadata."):
		return Metadata
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
