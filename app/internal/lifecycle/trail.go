// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Bounds of the audit log data outside the timelines. The data waits for the first observation of
// its object. At the bound, the older half is dropped.
const (
	maxAdrift    = 1 << 14
	maxSightings = 1 << 17
)

// trail holds the audit log data outside the timelines: writes to objects that are unknown or known
// only by name, refused writes, and digests of all requests. Writes and digests have two
// generations. The older generation is dropped when the younger one is full or old.
type trail struct {
	sightings, earlier map[uint64]sighting
	adrift, longAdrift map[subject][]*observation.Write
	refusals           map[subject]*refusals
	// turned is the time of the last change of generations.
	turned time.Time
}

// sighting is an observed request, stored under a digest of its audit ID.
type sighting struct {
	// content is a digest of the request. twice means that another request had the same audit ID.
	// Clients may choose that ID, so it then identifies neither request (rule X1).
	content uint64
	twice   bool
}

// subject identifies the object of a request: by UID, or by kind and name. For a refused creation
// it is the UID of the owner.
type subject struct {
	UID, Owner                   types.UID
	Group, Kind, Namespace, Name string
}

func compareSubjects(a, b subject) int {
	return cmp.Or(
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.Owner, b.Owner),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

func newTrail() trail {
	return trail{
		sightings: map[uint64]sighting{}, earlier: map[uint64]sighting{},
		adrift: map[subject][]*observation.Write{}, longAdrift: map[subject][]*observation.Write{},
		refusals: map[subject]*refusals{},
	}
}

// identify returns the subject of the request.
func identify(w *observation.Write) subject {
	switch {
	case w.UID != "":
		return subject{UID: w.UID}
	case w.Controller != "":
		return subject{Owner: w.Controller}
	}
	return nameOf(w)
}

func nameOf(w *observation.Write) subject {
	return subject{Group: w.Group, Kind: w.Kind.Kind, Namespace: w.Namespace, Name: w.Name}
}

// AuditStats counts the writes of the audit log by their results. It is not saved.
type AuditStats struct {
	// Joined counts the writes that were joined to one stored write before they were forgotten.
	// Ambiguous counts the writes with several possible stored writes, or in competition for one.
	// Unmatched counts the writes without an observed stored write.
	Joined, Ambiguous, Unmatched uint64
	// Refused counts the writes that the API server refused. Repeated counts the refused writes
	// that only add to a count. Passed counts the refused writes without a trace.
	Refused, Repeated, Passed uint64
	// Contradicted counts audit IDs with two different requests.
	Contradicted uint64
	// Late counts the writes that arrived after the handout of their trace and are not part of any
	// trace. Dropped counts the writes that were dropped for lack of room.
	Late, Dropped uint64
}

// AuditStats returns the counts since the Engine was created or restored.
func (e *Engine) AuditStats() AuditStats { return e.tally }

// observeAudit adds a write from the audit log.
func (e *Engine) observeAudit(w *observation.Write) {
	again := e.sight(w)
	if w.Failed() {
		if !again {
			e.tally.Refused++
			e.refuse(w)
		}
		return
	}
	id := identify(w)
	if t := e.object(id.UID); id.UID != "" && t != nil {
		e.attach(t, w, again)
		return
	}
	if id.UID == "" {
		for _, t := range e.named(id) {
			e.attach(t, w, again)
		}
	}
	if len(e.trail.adrift) >= maxAdrift/2 {
		e.turnAdrift()
	}
	e.trail.adrift[id] = addWrite(e.trail.adrift[id], w)
}

// sight records a request. It reports whether the request was observed before.
func (e *Engine) sight(w *observation.Write) bool {
	key, content := sightingKey(w), contentOf(w)
	if w.AuditID == "" {
		key = content
	}
	known, again := e.trail.sightings[key]
	if !again {
		known, again = e.trail.earlier[key]
	}
	switch {
	case !again:
		if len(e.trail.sightings) >= maxSightings/2 {
			e.turnSightings()
		}
		e.trail.sightings[key] = sighting{content: content}
		return false
	case known.content != content && !known.twice:
		known.twice = true
		e.trail.sightings[key] = known
		e.tally.Contradicted++
		e.doubts++ // the joins by this audit ID are now invalid
		e.groups.changeAll()
	}
	return known.content == content
}

// sightingKey returns a digest of the audit ID. Events from a source without authentication have
// separate keys, so they contradict only each other.
func sightingKey(w *observation.Write) uint64 {
	key := xxhash.Sum64String(w.AuditID)
	if w.Unauthenticated {
		return ^key
	}
	return key
}

// contentOf returns a digest of the request fields that every level of the audit log contains.
func contentOf(w *observation.Write) uint64 {
	h := xxhash.New()
	for _, s := range []string{
		w.Group,
		w.Resource,
		w.Subresource,
		w.Namespace,
		w.Verb,
		w.User,
		w.Impersonator,
		w.UserAgent,
	} {
		_, _ = h.WriteString(s)
		_, _ = h.Write([]byte{0})
	}
	var b [24]byte
	binary.BigEndian.PutUint64(b[:], uint64(w.Start.UnixNano()))
	binary.BigEndian.PutUint64(b[8:], uint64(w.End.UnixNano()))
	binary.BigEndian.PutUint64(b[16:], uint64(w.Code)) //nolint:gosec // only to be digested
	_, _ = h.Write(b[:])
	return h.Sum64()
}

// contradicted reports whether another request had the same audit ID.
func (e *Engine) contradicted(w *observation.Write) bool {
	key := sightingKey(w)
	known, ok := e.trail.sightings[key]
	if !ok {
		known = e.trail.earlier[key]
	}
	return known.twice
}

func (e *Engine) turnSightings() {
	e.trail.earlier, e.trail.sightings = e.trail.sightings, map[uint64]sighting{}
}

// turnAdrift drops the writes that have waited longest.
func (e *Engine) turnAdrift() {
	for _, list := range e.trail.longAdrift {
		e.tally.Unmatched += uint64(len(list))
	}
	e.trail.longAdrift, e.trail.adrift = e.trail.adrift, map[subject][]*observation.Write{}
}

// ageTrail drops the old entries that are still unused.
func (e *Engine) ageTrail(now time.Time) {
	if now.Sub(e.trail.turned) < retention {
		return
	}
	e.trail.turned = now
	e.turnSightings()
	e.turnAdrift()
}

// attach adds a write to the timeline of its object.
func (e *Engine) attach(t *change.Timeline, w *observation.Write, again bool) {
	if e.lateAudit(t, w, again) {
		return
	}
	if t.Audits == nil {
		t.Audits = &change.Audits{}
	}
	e.doubt(t)
	t.Audits.List = addWrite(t.Audits.List, w)
	if len(t.Audits.List) > maxLoose+len(t.Versions) {
		oldest := t.Audits.List[0]
		t.ForgetAudits(func(w *observation.Write) bool { return w == oldest })
		e.tally.Dropped++
	}
	e.changed(t)
	e.context(t, w.TraceParent)
}

// adopt adds to a timeline the writes that arrived before the first observation of its object.
func (e *Engine) adopt(t *change.Timeline) {
	if len(e.trail.adrift)+len(e.trail.longAdrift) == 0 {
		return
	}
	name := subjectOf(t)
	for _, drift := range []map[subject][]*observation.Write{e.trail.longAdrift, e.trail.adrift} {
		for _, id := range []subject{{UID: t.Ref.UID}, name} {
			for _, w := range drift[id] {
				e.attach(t, w, true)
			}
		}
		delete(drift, subject{UID: t.Ref.UID})
	}
}

// trimAudits forgets the requests that ended before the given time, or all requests if it is zero.
// It counts their results.
func (e *Engine) trimAudits(t *change.Timeline, before time.Time) {
	if t.Audits == nil {
		return
	}
	j := e.joins(t)
	made := map[*observation.Write]bool{j.Removal.Write: true}
	for _, q := range j.Version {
		made[q.Write] = true
	}
	for _, q := range j.Missed {
		made[q.Write] = true
	}
	unjoined := uint64(0)
	t.ForgetAudits(func(w *observation.Write) bool {
		goes := before.IsZero() || w.End.Before(before)
		switch {
		case goes && made[w]:
			e.tally.Joined++
		case goes:
			unjoined++
		}
		return goes
	})
	ambiguous := min(unjoined, uint64(j.Ambiguous)) //nolint:gosec // a count
	e.tally.Ambiguous += ambiguous
	e.tally.Unmatched += unjoined - ambiguous
	e.doubt(t)
	if len(t.Audits.List) == 0 {
		t.Audits = nil
	}
}

// maxLoose is the maximum number of requests of one object that wait for their stored writes.
const maxLoose = 256

// addWrite adds a request to the requests of an object, in order of time. If the same request is
// already there, it keeps the more complete of the two.
func addWrite(list []*observation.Write, w *observation.Write) []*observation.Write {
	i := len(list)
	for i > 0 && compareWrites(list[i-1], w) > 0 {
		i--
	}
	if i > 0 && compareWrites(list[i-1], w) == 0 {
		known := list[i-1]
		more := known.ResourceVersion == 0 && (w.ResourceVersion > 0 || known.UID == "" && w.UID != "")
		if known.Unauthenticated && !w.Unauthenticated || more && known.Unauthenticated == w.Unauthenticated {
			list[i-1] = w
		}
		return list
	}
	if len(list) >= 4*maxLoose && i == 0 {
		return list // older than all stored requests, and there is not enough room
	}
	list = append(list, nil)
	copy(list[i+1:], list[i:])
	list[i] = w
	return list
}

func compareWrites(a, b *observation.Write) int {
	return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.AuditID, b.AuditID))
}

// named returns the timelines of the objects with that name. There may be several, because names
// are reused.
func (e *Engine) named(id subject) []*change.Timeline {
	if e.names == nil {
		e.names = map[subject][]*change.Timeline{}
		for _, t := range e.objects {
			e.name(t)
		}
	}
	return e.names[id]
}

// name adds t to the index of names, if t has a name.
func (e *Engine) name(t *change.Timeline) {
	if e.names == nil || t.Ref.Name == "" {
		return
	}
	id := subjectOf(t)
	for _, other := range e.names[id] {
		e.doubt(other) // the name may now mean either object
	}
	e.names[id] = append(e.names[id], t)
}

// unname removes t from the index, before a change of its name or the removal of t.
func (e *Engine) unname(t *change.Timeline) {
	if e.names == nil {
		return
	}
	id := subjectOf(t)
	left := slices.DeleteFunc(e.names[id], func(other *change.Timeline) bool { return other == t })
	if len(left) == 0 {
		delete(e.names, id)
		return
	}
	e.names[id] = left
	for _, other := range left {
		e.doubt(other)
	}
}

// subjectOf returns the subject of a request that names the object without its UID.
func subjectOf(t *change.Timeline) subject {
	return subject{Group: t.Ref.Group, Kind: t.Ref.Kind.Kind, Namespace: t.Ref.Namespace, Name: t.Ref.Name}
}

// doubt discards the joins of the audit log's requests to the writes of t. They are then computed
// again.
func (e *Engine) doubt(t *change.Timeline) {
	if t.Audits == nil {
		return
	}
	t.Audits.Joined = nil
	if g := e.groups.of[t]; g != nil {
		g.change()
	}
}
