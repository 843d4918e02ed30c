// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// pathRevision stands for the revision among the changed fields of a write.
const pathRevision = "revision"

// publishes reports whether v, the version after u, begins a new revision by its status alone: a
// source of Flux has a new one, a Kustomization begins to apply it, or a Certificate is issued again.
func publishes(u, v *history.Version) bool {
	return v.Revision != nil && ByStatus(v.Kind) &&
		(u.Revision == nil || u.Revision.ID != v.Revision.ID)
}

// ByStatus reports whether only the status of objects of that kind shows a new revision.
func ByStatus(k object.Kind) bool {
	return kind.IsSource(k) || kind.IsKustomization(k) || kind.Certificate.Is(k)
}

// endsOperation reports whether a write only removed the field operation of an Argo CD Application: its
// controller has carried out the sync (rule N2).
func endsOperation(v *history.Version, c *history.Difference) bool {
	return kind.IsApplication(v.Kind) && len(c.Paths) > 0 && !slices.ContainsFunc(c.Paths, func(path string) bool {
		return v.Field(path) != nil || !strings.HasPrefix(path, "operation.")
	})
}

// removesRelease reports whether Helm removes the objects of the release stored in v. It deletes
// that object last.
func removesRelease(v *history.Version) bool {
	return v.Revision != nil && v.Revision.Phase == observation.RevisionRemoved
}

// uninstalls reports whether the removal of a release began with an observed write before v, the last
// version. An observer that finds the release in removal has not observed that write.
func (t *Timeline) uninstalls(v *history.Version) bool {
	first := t.Versions[0]
	return removesRelease(v) && !(first.Baseline && t.Past == nil && removesRelease(first))
}

// Applied reports whether a tool of continuous delivery applies the object of r. Its own controller
// goes on after the revision has failed.
func (r *Reconciliation) Applied() bool {
	_, applied := Related(r.Timeline, object.Applied)
	return applied
}

// Publishes reports whether w is the publication of a revision, which holds as soon as it is stored.
func (w *Write) Publishes() bool {
	return w.Revision() != "" && w.Version.Revision.Phase == observation.RevisionPublished
}

// Revision returns the ID of the revision that w begins by the status of its object, or "".
func (w *Write) Revision() string {
	if w.Version == nil || w.Previous == nil || !publishes(w.Previous, w.Version) {
		return ""
	}
	return w.Version.Revision.ID
}

// BeganRevision reports whether a write of r began a revision.
func (r *Reconciliation) BeganRevision() bool {
	return slices.ContainsFunc(r.Writes, func(w *Write) bool { return w.Revision() != "" })
}
