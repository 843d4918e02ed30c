// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// verb is what a write did to the object.
type verb string

const (
	created verb = "create"
	updated verb = "update"
	deleted verb = "delete"
	// removed is the end of an object that was being deleted already.
	removed verb = "remove"
)

// part is what a write changed.
type part string

const (
	desired     part = "desired"
	observed    part = "observed"
	bookkeeping part = "bookkeeping"
	// metadata: labels or annotations, and nothing else that is desired.
	metadata part = "metadata"
	// ownership: ownerReferences came or went (adoption, orphaning).
	ownership part = "ownership"
)

// write is one stored write, told apart from its neighbours.
type write struct {
	t    *timeline
	rv   uint64
	verb verb
	part part
	// v is the version written, nil for a removal or where only the request
	// was seen; prev the one before, nil for a creation.
	v, prev *version
	req     *observation.Write
	// audit is set on a write that only the audit log tells of; see audited for
	// others.
	audit *joined
	// manager is the managedFields entry that made it, empty if unknown.
	manager string
	// changed is what it changed; known is false for a creation or removal.
	changed difference
	// reconstructed: the object was found like this; its own timestamps tell
	// when (rule L7).
	reconstructed bool
	// arrived is when the object had, if it was found so; zero otherwise.
	arrived time.Time
	at      moment
	// fate is what became of it; rec is the reconciliation that tells of it, or nil.
	fate fate
	rec  *reconciliation
	// place is where it comes in the order of writes; zero stands for rv.
	place uint64
}

// writes lists what happened to the object, in order of resourceVersion. What
// was there when the observer began is no write, but a reconciliation that was
// found unfinished is reconstructed.
func (t *timeline) writes(out []write, how *rebuild) []write {
	if t.past != nil && t.past.gone {
		return out
	}
	from := len(out)
	var prev *version
	for i := range t.versions {
		v := t.versions[i]
		switch {
		case prev == nil && v.baseline:
			if !t.folded && t.reconstructs(v, how != nil) {
				out = append(out, reconstruct(t, v, how))
			}
		case prev == nil:
			out = append(out, t.born(v))
		default:
			out = append(out, t.between(prev, v))
		}
		prev = v
	}
	out = t.unseen(out, from)
	if t.removal != nil {
		out = append(out, t.end(prev))
	}
	return out
}

// reconstructs reports whether v, which was there when the observer began, is
// told as a reconciliation.
func (t *timeline) reconstructs(v *version, rebuild bool) bool {
	return v.Reconciled && (found(v) || rebuild)
}

// found reports whether a baseline version is in the middle of something.
func found(v *version) bool {
	return !v.Deleting.IsZero() || (!converged(v) && failure(v) == "")
}

// heard is when the observer learned of the write.
func (w *write) heard() time.Time {
	at := w.at.at().Time
	if w.v != nil {
		at = later(at, w.v.seen)
	}
	return at
}

func (t *timeline) born(v *version) write {
	w := write{t: t, rv: v.ResourceVersion, verb: created, part: desired, v: v, req: t.requestAt(v.ResourceVersion)}
	w.manager = writer(nil, v, true)
	w.at = arrival(v).within(v.Created).exactly(w.req)
	if v.listed {
		w.at = whole(v.Created).before(v.seen)
	}
	return w
}

func (t *timeline) between(u, v *version) write {
	w := write{t: t, rv: v.ResourceVersion, verb: updated, v: v, prev: u, req: t.requestAt(v.ResourceVersion)}
	w.changed = compare(kind.Of(t.ref.Group, t.ref.Kind.Kind), u, v)
	switch {
	case u.Deleting.IsZero() && !v.Deleting.IsZero():
		w.verb, w.part = deleted, desired
	case w.desires():
		w.part = desired
	case w.changed.metadata():
		w.part = metadata
	case !slices.Equal(u.Owners, v.Owners):
		w.part = ownership
	case !sameStatus(u, v):
		w.part = observed
	default:
		w.part = bookkeeping
	}
	switch {
	case w.changed.known && (w.part == desired || w.part == metadata) && w.verb == updated:
		w.manager = w.changed.author(u, v)
	default:
		w.manager = writer(u, v, w.part == desired || w.part == ownership)
	}
	w.at = arrival(v).exactly(w.req)
	if w.verb == deleted {
		if w.req == nil {
			w.req = t.deletion()
		}
		w.at = arrival(v).within(v.Deleting.Add(-time.Duration(v.GraceSeconds) * time.Second)).exactly(w.req)
	}
	return w
}

// desires reports whether an update changed the desired state, apart from metadata.
func (w *write) desires() bool {
	raised := w.v.Generation > w.prev.Generation && w.v.Deleting.IsZero()
	switch {
	case w.changed.known:
		return w.changed.spec() // a status without subresource raises the generation, too (rule N2)
	case (w.prev.fields == nil) != (w.v.fields == nil):
		return raised // digests of two observers cannot be compared
	}
	return raised || w.prev.Desired != w.v.Desired
}

// unseen adds the requests whose versions were not observed: they were stored
// all the same.
func (t *timeline) unseen(out []write, from int) []write {
	for _, req := range t.requests {
		if req.Failed() || req.ResourceVersion == 0 && t.tells(req) {
			continue
		}
		_, known := t.position(req.ResourceVersion)
		if known ||
			req.ResourceVersion > 0 && len(t.versions) > 0 && req.ResourceVersion < t.versions[0].ResourceVersion &&
				t.versions[0].baseline {
			continue
		}
		w := write{t: t, rv: req.ResourceVersion, verb: requestVerb(req), part: requestPart(req), req: req}
		if last := t.last(); w.rv == 0 && last != nil {
			w.rv = last.ResourceVersion + 1 // after all that is known
		}
		w.at = moment{}.exactly(req)
		i := from
		for i < len(out) && out[i].rv < w.rv {
			i++
		}
		if i < len(out) && w.verb == created && out[i].verb == created {
			out[i].verb, out[i].part = updated, observed
		}
		out = slices.Insert(out, i, w)
	}
	return out
}

// deletion returns the request that asked for the object's deletion, or nil. Its
// answer may tell no resourceVersion: that of an eviction, of the deletion of a
// collection, or of one that took effect at once.
func (t *timeline) deletion() *observation.Write {
	for _, req := range t.requests {
		if !req.Failed() && requestVerb(req) == deleted {
			return req
		}
	}
	return nil
}

// tells reports whether what was observed of the object shows what a request
// did whose answer had no resourceVersion.
func (t *timeline) tells(req *observation.Write) bool {
	if requestVerb(req) != deleted {
		return len(t.versions) > 0
	}
	last := t.last()
	return t.removal != nil || last != nil && !last.Deleting.IsZero()
}

func requestVerb(req *observation.Write) verb {
	switch {
	case req.Verb == "delete", req.Verb == "deletecollection", req.Subresource == "eviction":
		return deleted
	case req.Code == 201 && req.Subresource == "":
		return created
	}
	return updated
}

func requestPart(req *observation.Write) part {
	if req.Subresource == "status" || req.Subresource == "binding" {
		return observed
	}
	return desired
}

// end is the removal of the object: a deletion of its own where none was seen
// to begin.
func (t *timeline) end(prev *version) write {
	w := write{t: t, rv: t.removal.rv, verb: removed, part: observed, prev: prev}
	w.at = moment{hi: t.removal.seen, live: !t.removal.listed}
	if prev == nil || prev.Deleting.IsZero() {
		w.verb, w.part, w.req = deleted, desired, t.deletion()
		w.at = w.at.exactly(w.req)
	}
	return w
}

// reconstruct is the write that must have preceded a baseline version (rule
// L7): one which is not where it wants to be, or how tells how it got there.
func reconstruct(t *timeline, v *version, how *rebuild) write {
	w := write{t: t, rv: v.ResourceVersion, verb: updated, part: desired, v: v, reconstructed: true}
	w.manager = writer(nil, v, true)
	switch {
	case how != nil:
		w.verb, w.at, w.arrived = how.verb, whole(how.start), how.end
	case !v.Deleting.IsZero():
		w.verb = deleted
		w.at = whole(v.Deleting.Add(-time.Duration(v.GraceSeconds) * time.Second))
	case v.Generation <= 1:
		w.verb = created
		w.at = whole(v.Created)
	default:
		w.at = whole(v.Created)
		for _, m := range v.Managers {
			if m.Subresource == "" && m.Time.After(w.at.lo) {
				w.at = whole(m.Time)
			}
		}
	}
	return w
}

// sameStatus reports whether nothing that the engine reads from a status
// changed.
func sameStatus(u, v *version) bool {
	if u.ObservedGeneration != v.ObservedGeneration || u.Progress != v.Progress ||
		!slices.EqualFunc(u.Conditions, v.Conditions, equal) {
		return false
	}
	for _, m := range v.Managers {
		if m.Subresource == "status" && !slices.ContainsFunc(u.Managers, is(m)) {
			return false
		}
	}
	return true
}

// writer names the managedFields entry that changed between two versions: of
// the object itself for a write to desired state, of its status otherwise.
func writer(u, v *version, object bool) string {
	best := -1
	for i, m := range v.Managers {
		if (m.Subresource == "") != object || u != nil && slices.ContainsFunc(u.Managers, is(m)) {
			continue
		}
		if best < 0 || m.Time.After(v.Managers[best].Time) {
			best = i
		}
	}
	if best < 0 && u != nil {
		for i, m := range v.Managers {
			if !slices.ContainsFunc(u.Managers, is(m)) && (best < 0 || m.Time.After(v.Managers[best].Time)) {
				best = i
			}
		}
	}
	if best < 0 {
		return scaler(u, v)
	}
	return v.Managers[best].Name
}

// scaler names the managedFields entry of the scale subresource if the replicas changed; otherwise
// it returns "". Such an entry has no time and stays the same at a second scaling, but it ends when
// another manager sets the replicas. So it names the last manager that did.
func scaler(u, v *version) string {
	if u == nil || u.Workload == nil || v.Workload == nil || u.Workload.Replicas == v.Workload.Replicas {
		return ""
	}
	name := ""
	for _, m := range v.Managers {
		if m.Subresource == "scale" {
			if name != "" {
				return ""
			}
			name = m.Name
		}
	}
	return name
}
