// SPDX-License-Identifier: Apache-2.0

// Package change holds the writes to an object, and the reconciliations and lineages (traces in the
// making) composed of them. It finds the writes in the versions and requests of an object. It holds
// no rules about causes: package lifecycle assigns each write to a reconciliation and to a lineage.
package change

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Writes appends the writes to the object to out, in order of resourceVersion. The state at the
// start of the observer does not count as a write, but an unfinished reconciliation found then is
// reconstructed.
// how is the write to reconstruct, concluded elsewhere, or nil.
func (t *Timeline) Writes(out []Write, how *Rebuilt) []Write {
	if t.Past != nil && t.Past.Gone {
		return out
	}
	from := len(out)
	var prev *history.Version
	for i := range t.Versions {
		v := t.Versions[i]
		switch {
		case prev == nil && v.Baseline:
			if !t.Folded && t.reconstructs(v, how != nil) {
				out = append(out, reconstruct(t, v, how))
			}
		case prev == nil:
			out = append(out, creation(t, v))
		default:
			w := update(t, prev, v)
			if len(out) > from {
				// The time of a write during an outage of the watch has whole seconds.
				w.At = w.At.After(out[len(out)-1].At)
			}
			for n := len(out) - 1; n >= from && out[n].At.Range; n-- {
				out[n].At = out[n].At.NotAfter(w.At.At().Time)
			}
			out = append(out, w)
		}
		prev = v
	}
	out = withUnseen(t, out, from)
	if t.Removal != nil {
		out = append(out, removal(t, prev))
	}
	return out
}

// creation returns the creation of the object with the version v.
func creation(t *Timeline, v *history.Version) Write {
	w := Write{
		Timeline: t,
		RV:       v.ResourceVersion,
		Verb:     history.Created,
		Part:     Desired,
		Version:  v,
		Request:  t.RequestAt(v.ObjectVersion()),
	}
	w.Manager = Writer(nil, v, true)
	w.At = history.Arrival(v).Within(v.Created).Exactly(w.Request)
	if v.Listed {
		w.At = history.Whole(v.Created).Before(v.Seen)
	}
	return w
}

// update returns the write of v, the version after u.
func update(t *Timeline, u, v *history.Version) Write {
	w := Write{
		Timeline: t,
		RV:       v.ResourceVersion,
		Verb:     history.Updated,
		Version:  v,
		Previous: u,
		Request:  t.RequestAt(v.ObjectVersion()),
	}
	w.Changed = history.Compare(t.Kind(), u, v)
	switch {
	case u.Deleting.IsZero() && !v.Deleting.IsZero(), !removesRelease(u) && removesRelease(v):
		w.Verb, w.Part = history.Deleted, Desired
	case publishes(u, v):
		w.Part, w.Changed.Paths = Desired, []string{pathRevision}
	case endsOperation(v, &w.Changed):
		w.Part = Observed
	case w.desires():
		w.Part = Desired
	case w.Changed.Metadata():
		w.Part = Metadata
	case !slices.Equal(u.Owners, v.Owners):
		w.Part = Ownership
	case !sameStatus(u, v):
		w.Part = Observed
	default:
		w.Part = Bookkeeping
	}
	switch {
	case w.Revision() != "":
		w.Manager = cmp.Or(Writer(u, v, false), Reconciler(t)) // two writes in one second look alike
	case w.Changed.Known && (w.Part == Desired || w.Part == Metadata) && w.Verb == history.Updated:
		w.Manager = w.Changed.Author(u, v)
	default:
		w.Manager = Writer(u, v, w.Part == Desired || w.Part == Ownership)
	}
	w.At = w.arrival().Exactly(w.Request)
	if w.Verb == history.Deleted && !v.Deleting.IsZero() {
		if w.Request == nil {
			w.Request = deletionRequest(t)
		}
		w.At = history.Arrival(v).Within(v.Deleting.Add(-time.Duration(v.GraceSeconds) * time.Second)).Exactly(
			w.Request,
		)
	}
	return w
}

// arrival returns the time of an update, by the observation of its version. Without a time in
// managedFields, an update in an outage of the watch has a Range.
func (w *Write) arrival() history.Moment {
	u, v, manager := w.Previous, w.Version, ""
	if w.Changed.Known && (w.Part == Desired || w.Part == Metadata) {
		manager = w.Manager
	}
	if !v.Listed || history.Timed(u, v, manager) {
		return history.Arrival(v)
	}
	m := history.Between(history.Alive(u), v.Seen)
	if v.Generation > u.Generation && v.ObservedGeneration >= v.Generation {
		for _, entry := range v.Managers { // the controller's answer came later
			if entry.Subresource == "status" && !entry.Time.Before(m.Lo.Truncate(time.Second)) {
				m = m.NotAfter(entry.Time.Add(time.Second))
			}
		}
	}
	return m
}

// desires reports whether an update changed the desired state, apart from metadata.
func (w *Write) desires() bool {
	raised := w.Version.Generation > w.Previous.Generation && w.Version.Deleting.IsZero()
	switch {
	case w.Changed.Known:
		return w.Changed.Spec() // a status without subresource raises the generation, too (rule N2)
	case (w.Previous.Fields == nil) != (w.Version.Fields == nil):
		return raised // digests of two observers cannot be compared
	}
	return raised || w.Previous.Desired != w.Version.Desired
}

// withUnseen inserts the requests without an observed version into out, after the index from. They were
// stored, too.
func withUnseen(t *Timeline, out []Write, from int) []Write {
	for _, req := range t.Requests() {
		if req.Failed() || req.ResourceVersion == 0 && shows(t, req) {
			continue
		}
		place, known := t.Place(req.ResourceVersion)
		if known ||
			req.ResourceVersion > 0 && len(t.Versions) > 0 && req.ResourceVersion < t.Versions[0].ObjectVersion() &&
				t.Versions[0].Baseline {
			continue
		}
		w := Write{
			Timeline: t,
			RV:       place,
			Verb:     history.RequestVerb(req),
			Part:     requestPart(req),
			Request:  req,
		}
		if last := t.Last(); req.ResourceVersion == 0 && last != nil {
			w.RV = last.ResourceVersion + 1 // after all that is known
		}
		w.At = history.Moment{}.Exactly(req)
		i := from
		for i < len(out) && out[i].RV < w.RV {
			i++
		}
		if i < len(out) && w.Verb == history.Created && out[i].Verb == history.Created {
			out[i].Verb, out[i].Part = history.Updated, Observed
		}
		out = slices.Insert(out, i, w)
	}
	return out
}

// deletionRequest returns the request for the deletion of the object, or nil. Its response may lack a
// resourceVersion: for an eviction, for the deletion of a collection, or for an immediate deletion.
func deletionRequest(t *Timeline) *observation.Write {
	for _, req := range t.Requests() {
		if !req.Failed() && history.RequestVerb(req) == history.Deleted {
			return req
		}
	}
	return nil
}

// shows reports whether the observations of the object show the effect of a request without a
// resourceVersion in its response.
func shows(t *Timeline, req *observation.Write) bool {
	if history.RequestVerb(req) != history.Deleted {
		return len(t.Versions) > 0
	}
	last := t.Last()
	return t.Removal != nil || last != nil && !last.Deleting.IsZero()
}

// requestPart returns the part of the object that a request changed.
func requestPart(req *observation.Write) part {
	if req.Subresource == "status" || req.Subresource == "binding" {
		return Observed
	}
	return Desired
}

// removal returns the removal of the object. Without an observed start of the deletion, it is the
// deletion itself. prev is the last version, or nil.
func removal(t *Timeline, prev *history.Version) Write {
	w := Write{Timeline: t, RV: t.Removal.RV, Verb: history.Removed, Part: Observed, Previous: prev}
	w.At = history.Moment{Hi: t.Removal.Seen, Live: !t.Removal.Listed}
	if t.Removal.Listed {
		w.At = history.Between(history.Alive(prev), t.Removal.Seen)
	}
	if prev == nil || prev.Deleting.IsZero() && !t.uninstalls(prev) {
		w.Verb, w.Part, w.Request = history.Deleted, Desired, deletionRequest(t)
		w.At = w.At.Exactly(w.Request)
	}
	return w
}

// sameStatus reports whether the used parts of the status did not change.
func sameStatus(u, v *history.Version) bool {
	if u.ObservedGeneration != v.ObservedGeneration || u.Progress != v.Progress ||
		!slices.EqualFunc(u.Conditions, v.Conditions, history.Equal) {
		return false
	}
	for _, m := range v.Managers {
		if m.Subresource == "status" && !slices.ContainsFunc(u.Managers, history.Is(m)) {
			return false
		}
	}
	return true
}
