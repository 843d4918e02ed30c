// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// part is the part of an object that a write changed.
type part string

// The parts of writes.
const (
	// Desired is the desired state: spec, content or deletionTimestamp.
	Desired part = "desired"
	// Observed is the status.
	Observed part = "observed"
	// Bookkeeping is the rest, such as finalizers and managedFields.
	Bookkeeping part = "bookkeeping"
	// Metadata is labels or annotations, without other desired state.
	Metadata part = "metadata"
	// Ownership is the ownerReferences, at an adoption or an orphaning.
	Ownership part = "ownership"
)

// Write is one stored write to an object, as distinct from the writes before and after it.
type Write struct {
	Timeline *Timeline
	// RV is the place of the write among all writes: history.Version.ResourceVersion.
	RV   uint64
	Verb history.Verb
	Part part
	// Version is the written version, nil for a removal and for a write with only a request.
	// Previous is the version before, nil for a creation.
	Version, Previous *history.Version
	// Before is the resourceVersion of the write before it, if only the audit log shows that one or
	// this one; else 0.
	Before uint64
	// Request is the observed request, or nil.
	Request *observation.Write
	// Audit is the request of a write known only from the audit log. It is nil for other writes:
	// Audits.Joined has their requests.
	Audit *audit.Joined
	// Manager is the name of the writer's managedFields entry; empty if unknown.
	Manager string
	// Changed is the difference from Previous. Its field Known is false for a creation or removal.
	Changed history.Difference
	// Reconstructed means that the observer found the object in this state. The time of the write
	// is then from the object's own timestamps (rule L7).
	Reconstructed bool
	// Arrived is the time of the convergence of an object found converged; else zero.
	Arrived time.Time
	// At is the time of the write.
	At history.Moment
	// Fate is the fate of the write. Reconciliation is the one with this write, or nil.
	Fate           fate
	Reconciliation *Reconciliation
	// Place is the place of the write in the order of writes; 0 means RV.
	Place uint64
}

// Heard returns the time of the observation of the write.
func (w *Write) Heard() time.Time {
	at := w.At.At().Time
	if w.Version != nil {
		at = history.Later(at, w.Version.Seen)
	}
	return at
}

// Originates reports whether w put a context on its object. An older context cannot be a cause
// (rule C1), and a deletion writes no annotation.
func (w *Write) Originates() bool {
	return w.Version != nil && w.Version.TraceParent != "" && w.Verb != history.Deleted &&
		(w.Previous == nil || w.Previous.TraceParent != w.Version.TraceParent)
}

// Loose reports whether only a list showed the result of w. The version in a list is the newest of
// several. So its resourceVersion is that of a later write, and the effects of w may have a lower
// one.
func (w *Write) Loose() bool {
	return w.Version != nil && w.Version.Listed && !w.Version.Late && !w.Reconstructed && w.Request == nil &&
		w.Part == Desired &&
		w.Verb != history.Deleted
}

// Owners returns the owners of the object at the time of w: the last known ones up to w, or else later ones.
func (w *Write) Owners() []object.Owner {
	if len(w.Timeline.Owners()) == 0 {
		return nil // no version has one
	}
	last := w.Version
	if last == nil {
		last = w.Previous
	}
	if last == nil || len(last.Owners) == 0 {
		for _, v := range w.Timeline.Versions {
			if v.ResourceVersion <= w.RV && len(v.Owners) > 0 {
				last = v
			}
		}
	}
	if last == nil || len(last.Owners) == 0 {
		return w.Timeline.Owners()
	}
	return last.Owners
}

// From returns the lowest possible resourceVersion of w: more than that of the version before.
func (w *Write) From() uint64 {
	switch {
	case w.Reconstructed:
	case w.Verb == history.Created:
		return 1
	case w.Previous != nil:
		return w.Previous.ResourceVersion + 1
	}
	return w.RV
}

// ObjectVersion returns the resourceVersion of the object as stored by w.
func (w *Write) ObjectVersion() uint64 {
	switch {
	case w.Version != nil:
		return w.Version.ObjectVersion()
	case w.Request != nil && w.Request.ResourceVersion > 0:
		return w.Request.ResourceVersion
	case w.Audit != nil && w.Audit.ResourceVersion > 0:
		return w.Audit.ResourceVersion
	case w.Verb == history.Removed || w.Verb == history.Deleted && w.Timeline.Removal != nil:
		return w.Timeline.Removal.ObjectVersion()
	}
	return w.RV
}

// Stored returns the place of w in the order of writes.
func (w *Write) Stored() uint64 {
	if w.Place != 0 {
		return w.Place
	}
	return w.RV
}

// IsDefault reports whether w creates a default object of a Namespace. Such a write may have no
// field manager.
func (w *Write) IsDefault() bool {
	name := w.Timeline.Kind().Default
	return w.Verb == history.Created && name != "" && name == w.Timeline.Ref.Name &&
		(w.Manager == "" || w.Manager == Manager)
}

// FieldSeparator separates the paths in a key of SeriesKey. A path may contain a space.
const FieldSeparator = "\n"

// SeriesKey identifies the series of w among those of its object. Both results are empty if w can
// be in no series (rule N4). A series changes labels, annotations, or the content of a ConfigMap or
// Secret. A client's change of content is never part of one.
func (w *Write) SeriesKey() (author, fields string) {
	switch {
	case w.Verb != history.Updated, w.Manager == "", len(w.Changed.Paths) == 0, w.Request != nil, w.Originates():
		return "", ""
	case !w.Changed.Spec():
	case IsClient(w.Manager), len(w.Changed.Paths) != 1, w.Changed.Paths[0] != observation.PathData:
		return "", ""
	}
	return w.Manager, strings.Join(w.Changed.Paths, FieldSeparator)
}
