// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Bounds of what is kept of the audit log beside the timelines. What lies there
// waits for its object to be seen; at the bound the older half goes.
const (
	maxAdrift    = 1 << 14
	maxSightings = 1 << 17
)

// trail is what the API server's audit log told that no timeline has: the writes
// to objects that are not known, or only by a name, the refused ones, and which
// requests there were. Each is a set, in two generations: the older one goes
// when the younger is full or old.
type trail struct {
	sightings, earlier map[uint64]sighting
	adrift, longAdrift map[subject][]*observation.Write
	refusals           map[subject]*refusals
	// turned is when the generations last changed.
	turned time.Time
}

// sighting is a request that was seen, under a digest of its audit ID.
type sighting struct {
	// content is a digest of what it was; twice says that another request had
	// the same ID, which clients may choose: it names none then (rule X1).
	content uint64
	twice   bool
}

// subject is how a request names its object: by UID, or by kind and name; or,
// where it was to be created and was not, by the UID of the owner.
type subject struct {
	uid, owner                   types.UID
	group, kind, namespace, name string
}

func compareSubjects(a, b subject) int {
	return cmp.Or(
		cmp.Compare(a.uid, b.uid),
		cmp.Compare(a.owner, b.owner),
		cmp.Compare(a.group, b.group),
		cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.namespace, b.namespace),
		cmp.Compare(a.name, b.name),
	)
}

func newTrail() trail {
	return trail{
		sightings: map[uint64]sighting{}, earlier: map[uint64]sighting{},
		adrift: map[subject][]*observation.Write{}, longAdrift: map[subject][]*observation.Write{},
		refusals: map[subject]*refusals{},
	}
}

// identify says by what the request names its object.
func identify(w *observation.Write) subject {
	switch {
	case w.UID != "":
		return subject{uid: w.UID}
	case w.Controller != "":
		return subject{owner: w.Controller}
	}
	return nameOf(w)
}

func nameOf(w *observation.Write) subject {
	return subject{group: w.Group, kind: w.Kind.Kind, namespace: w.Namespace, name: w.Name}
}

// AuditStats says what became of the writes that the audit log told of. It is
// not saved.
type AuditStats struct {
	// Joined counts those found to be one stored write, as their objects were
	// forgotten; Ambiguous those that could have been several, or several one;
	// Unmatched those that are none that was seen.
	Joined, Ambiguous, Unmatched uint64
	// Refused counts what the API server refused; Repeated is how many of them
	// only add to a count, and Passed those that belong to nothing that is told.
	Refused, Repeated, Passed uint64
	// Contradicted counts audit IDs that came with two different requests.
	Contradicted uint64
	// Late counts what came after its trace had been taken and is not told, and
	// Dropped what was given up for want of room.
	Late, Dropped uint64
}

// AuditStats returns what was counted since the Engine was made or restored.
func (e *Engine) AuditStats() AuditStats { return e.tally }

// observeAudit takes in a write that the audit log tells of.
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
	if t := e.objects[id.uid]; id.uid != "" && t != nil {
		e.attach(t, w, again)
		return
	}
	if id.uid == "" {
		for _, t := range e.named(id) {
			e.attach(t, w, again)
		}
	}
	if len(e.trail.adrift) >= maxAdrift/2 {
		e.turnAdrift()
	}
	e.trail.adrift[id] = addWrite(e.trail.adrift[id], w)
}

// sight notes that a request was seen, and reports whether it was before.
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
		e.doubts++ // whatever was joined by it is not
		e.groups.changeAll()
	}
	return known.content == content
}

// sightingKey is the digest of the audit ID. An event of a source that lets anyone send contradicts
// only its like.
func sightingKey(w *observation.Write) uint64 {
	key := xxhash.Sum64String(w.AuditID)
	if w.Unauthenticated {
		return ^key
	}
	return key
}

// contentOf digests what of a request every level of the log tells.
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

// contradicted reports whether the request's audit ID was another's, too.
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

// turnAdrift gives up the writes that have waited longest.
func (e *Engine) turnAdrift() {
	for _, list := range e.trail.longAdrift {
		e.tally.Unmatched += uint64(len(list))
	}
	e.trail.longAdrift, e.trail.adrift = e.trail.adrift, map[subject][]*observation.Write{}
}

// ageTrail forgets what nobody has come for.
func (e *Engine) ageTrail(now time.Time) {
	if now.Sub(e.trail.turned) < retention {
		return
	}
	e.trail.turned = now
	e.turnSightings()
	e.turnAdrift()
}

// forget forgets what is about the objects that drop names.
func (t *trail) forget(drop func(object.Ref) bool) {
	for _, drift := range []map[subject][]*observation.Write{t.adrift, t.longAdrift} {
		for id, list := range drift {
			if drop(list[0].Ref) {
				delete(drift, id)
			}
		}
	}
	for id, of := range t.refusals {
		if drop(of.kinds[0].writes[0].Ref) {
			delete(t.refusals, id)
		}
	}
}

// attach gives a timeline a write that names its object.
func (e *Engine) attach(t *timeline, w *observation.Write, again bool) {
	if e.lateAudit(t, w, again) {
		return
	}
	if t.audits == nil {
		t.audits = &audits{}
	}
	e.doubt(t)
	t.audits.list = addWrite(t.audits.list, w)
	if len(t.audits.list) > maxLoose+len(t.versions) {
		t.audits.list = t.audits.list[1:]
		e.tally.Dropped++
	}
	e.changed(t)
	e.context(t, w.TraceParent)
}

// adopt gives a timeline the writes that came before its object was seen.
func (e *Engine) adopt(t *timeline) {
	if len(e.trail.adrift)+len(e.trail.longAdrift) == 0 {
		return
	}
	name := t.subject()
	for _, drift := range []map[subject][]*observation.Write{e.trail.longAdrift, e.trail.adrift} {
		for _, id := range []subject{{uid: t.ref.UID}, name} {
			for _, w := range drift[id] {
				e.attach(t, w, true)
			}
		}
		delete(drift, subject{uid: t.ref.UID})
	}
}

// trimAudits forgets the requests that were answered before then, all if that is
// zero, and counts what became of them.
func (e *Engine) trimAudits(t *timeline, before time.Time) {
	if t.audits == nil {
		return
	}
	j := e.joins(t)
	made := map[*observation.Write]bool{j.removal.Write: true}
	for _, q := range j.version {
		made[q.Write] = true
	}
	for _, q := range j.missed {
		made[q.Write] = true
	}
	unjoined := uint64(0)
	t.audits.list = slices.DeleteFunc(t.audits.list, func(w *observation.Write) bool {
		goes := before.IsZero() || w.End.Before(before)
		switch {
		case goes && made[w]:
			e.tally.Joined++
		case goes:
			unjoined++
		}
		return goes
	})
	ambiguous := min(unjoined, uint64(j.ambiguous)) //nolint:gosec // a count
	e.tally.Ambiguous += ambiguous
	e.tally.Unmatched += unjoined - ambiguous
	e.doubt(t)
	if len(t.audits.list) == 0 {
		t.audits = nil
	}
}

// maxLoose is how many writes of one object may wait to be found what they are.
const maxLoose = 256

// addWrite adds a request to those of an object, in order of time. Of one that
// came before it keeps what tells more.
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
		return list // older than all that there is room for
	}
	list = append(list, nil)
	copy(list[i+1:], list[i:])
	list[i] = w
	return list
}

func compareWrites(a, b *observation.Write) int {
	return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.AuditID, b.AuditID))
}

// named are the timelines of objects of that name, of which there may be
// several: a name is used again.
func (e *Engine) named(id subject) []*timeline {
	if e.names == nil {
		e.names = map[subject][]*timeline{}
		for _, t := range e.objects {
			e.name(t)
		}
	}
	return e.names[id]
}

// name brings the index of names up to date with t, which may have got one.
func (e *Engine) name(t *timeline) {
	if e.names == nil || t.ref.Name == "" {
		return
	}
	id := t.subject()
	for _, other := range e.names[id] {
		e.doubt(other) // a name may mean either now
	}
	e.names[id] = append(e.names[id], t)
}

// unname takes t from the index, before its name changes or it goes.
func (e *Engine) unname(t *timeline) {
	if e.names == nil {
		return
	}
	id := t.subject()
	left := slices.DeleteFunc(e.names[id], func(other *timeline) bool { return other == t })
	if len(left) == 0 {
		delete(e.names, id)
		return
	}
	e.names[id] = left
	for _, other := range left {
		e.doubt(other)
	}
}

// subject is how a request names the object that does not know its UID.
func (t *timeline) subject() subject {
	return subject{group: t.ref.Group, kind: t.ref.Kind.Kind, namespace: t.ref.Namespace, name: t.ref.Name}
}

// doubt makes the requests of the audit log be joined to the writes of t again.
func (e *Engine) doubt(t *timeline) {
	if t.audits == nil {
		return
	}
	t.audits.joined = nil
	if g := e.groups.of[t]; g != nil {
		g.change()
	}
}
