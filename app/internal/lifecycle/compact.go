// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// retention is how long an object is remembered after it is gone, since its
// replacement may come later; and what nobody reconciles, since a request may.
const retention = 2 * time.Minute

// compact forgets what only traces needed that were taken: of an object that
// has arrived, its newest version and the name of its last reconciliation are
// kept. Whatever an open trace may be told from stays as it is, so that it is
// told the same afterwards. Groups without a change are left out, unless every is true.
func (e *Engine) compact(all []*group, now time.Time, every bool) {
	over, refused := e.over(now, every)
	for _, g := range all {
		// What is left of another group may have been merged with it.
		if g.derived != nil && (every || !g.compacted) {
			e.compactGroup(g, now, every)
		}
	}
	for _, key := range refused { // after the refusals that they explain
		delete(e.refused, key)
	}
	if e.groups.nodeGone {
		e.groups.changeAll()
		e.groups.nodeGone = false
	}
	for _, id := range over {
		delete(e.taken, id)
		delete(e.runs, id)
		g := e.groups.byLine[id]
		if e.inOne() {
			g = e.one()
		}
		if g != nil {
			delete(g.runs, id)
			g.change()
		}
	}
	e.reportSeries(now)
	e.ageTrail(now)
	e.shared = newShared() // what it knows is of what was forgotten
	if every {
		e.compacted = now
		e.groups.shrink()
	}
}

// over returns the traces that were handed out long ago and that no group holds any more. If every is
// true, it also returns the keys of old refused requests without a running command.
func (e *Engine) over(now time.Time, every bool) (out []trace.TraceID, refused []string) {
	line := func(id trace.TraceID) *lineage {
		g := e.groups.byLine[id]
		if e.inOne() {
			g = e.one()
		}
		if g == nil || g.derived == nil {
			return nil
		}
		return g.derived.lines[id]
	}
	for key, w := range e.refused {
		_, ended := e.taken[runOf(w)]
		l := line(runOf(w))
		if every && now.Sub(w.End) > retention && (ended || l == nil || l.run == nil) {
			refused = append(refused, key)
		}
	}
	for id, end := range e.taken {
		if l := line(id); now.Sub(end.at) > e.opts.Patience && (l == nil || len(l.recs) == 0) {
			out = append(out, id)
		}
	}
	return out, refused
}

// compactGroup compacts one group. What is left of it is divided into groups again. What is forgotten
// by its age alone is forgotten if aged is true.
func (e *Engine) compactGroup(g *group, now time.Time, aged bool) {
	d := g.derived
	needed, told := d.needed(), d.told()
	lingering, some := d.lingering(now), false
	for t := range g.members {
		some = some || t.idle(e.opts.Rebuild) || !needed.objects[t] && !lingering[t]
	}
	if !some {
		if e.forgetRefusals(d, now) {
			g.change()
		}
		g.compacted = len(lingering) == 0
		return
	}
	e.groups.dissolve(g)
	var left []*timeline
	for t := range g.members {
		recs := d.history(t.ref.UID)
		switch {
		case needed.objects[t], t.idle(e.opts.Rebuild), lingering[t]:
		case aged && (t.removal != nil || len(t.versions) == 0) && now.Sub(t.heard()) > retention:
			e.foldSeries(d, t, ^uint64(0))
			e.drop(t)
			continue
		default:
			e.shorten(t, recs, told[t], d)
			if aged && t.past == nil {
				e.trim(t, now.Add(-retention))
			}
		}
		if len(t.versions) > 0 && t.versions[0].baseline {
			e.foldSeries(d, t, t.versions[0].ResourceVersion)
		}
		e.reown(t)
		if !t.idle(e.opts.Rebuild) {
			left = append(left, t)
		}
	}
	e.count(d)
	e.forgetRefusals(d, now)
	for _, t := range left {
		e.again(t)
	}
	for id := range g.runs {
		if e.runs[id] != nil {
			e.changedRun(id)
		}
	}
	for id := range g.refusals {
		if e.trail.refusals[id] != nil {
			e.changedRefusal(id)
		}
	}
	kept := map[*group]int{}
	for _, t := range left {
		kept[e.groups.of[t]]++
	}
	for g, n := range kept {
		g.compacted = n == len(g.members) && len(lingering) == 0
	}
}

// lingering returns the members that linger.
func (d *derivation) lingering(now time.Time) map[*timeline]bool {
	out := map[*timeline]bool{}
	for t := range d.group.members {
		if d.lingers(t, now) {
			out[t] = true
		}
	}
	return out
}

// shorten forgets what was told of t. last is the last write that is told of.
func (e *Engine) shorten(t *timeline, recs []*reconciliation, last *write, d *derivation) {
	switch {
	case len(recs) > 0:
		e.fold(t, recs, d)
	case last != nil && t.removal != nil && last.rv == t.removal.rv:
		e.fold(t, []*reconciliation{last.rec.of(t, last)}, d)
	case last != nil:
		e.forgetTo(t, last.rv)
	}
}

// told returns the last write of each object that a trace tells of that was taken.
func (d *derivation) told() map[*timeline]*write {
	out := map[*timeline]*write{}
	for _, w := range d.written {
		if w.rec != nil && d.handedOut(w.rec.line) {
			out[w.t] = w
		}
	}
	return out
}

// handedOut reports whether Take has handed out the trace.
func (d *derivation) handedOut(l *lineage) bool {
	_, taken := d.engine.taken[l.id]
	return taken || l.old
}

// of returns a reconciliation of t that stands for r, which tells of w.
func (r *reconciliation) of(t *timeline, w *write) *reconciliation {
	return &reconciliation{
		t: t, line: r.line, spanID: r.id(), verb: w.verb, activity: r.line.latest, writes: []*write{w}, done: true,
	}
}

// forgetTo forgets the versions before the resourceVersion rv, and that this one was a write.
func (e *Engine) forgetTo(t *timeline, rv uint64) {
	i, found := t.position(rv)
	if !found {
		return
	}
	t.versions = slices.Clone(t.versions[i:])
	t.baseline()
}

// needed are the objects that open traces are told from: their own, those
// above them, and all that depend on these.
type needed struct {
	objects map[*timeline]bool
	owners  map[types.UID]bool
}

func (d *derivation) needed() needed {
	n := needed{objects: map[*timeline]bool{}, owners: map[types.UID]bool{}}
	for _, r := range d.late() {
		n.add(d, r.t)
	}
	for _, l := range d.untaken() {
		for _, r := range l.recs {
			n.add(d, r.t)
			for _, w := range r.notes {
				n.add(d, w.t)
			}
			if r.heals != nil {
				n.add(d, r.heals)
			}
		}
		for _, w := range l.loose {
			if t := d.engine.objects[w.UID]; t != nil {
				n.add(d, t)
			}
		}
	}
	return n
}

func (n *needed) add(d *derivation, t *timeline) {
	n.objects[t] = true
	for _, o := range t.owners() {
		if n.owners[o.UID] {
			continue
		}
		n.owners[o.UID] = true
		for _, dependant := range d.engine.dependants[o.UID] {
			n.objects[dependant] = true
		}
		if up := d.engine.objects[o.UID]; up != nil {
			n.add(d, up)
		}
	}
}

// past is what a compacted timeline still knows of its last reconciliation.
type past struct {
	line     trace.TraceID
	span     trace.SpanID
	verb     verb
	rv       uint64
	activity time.Time
	// gone: the object is no more, and that has been told.
	gone bool
	// lost: it went without its controller's doing; replaced: the controller
	// has made another.
	lost, replaced bool
	// began is the second of its first write, 0 if that is not known.
	began int64
	// before is what came shortly before it; nil, as for most, if nothing did.
	before *before
}

// before are reconciliations that another one followed, oldest first: Kubernetes
// Events of them may still come.
type before struct{ recs []earlier }

type earlier struct {
	line     trace.TraceID
	span     trace.SpanID
	rv       uint64
	began    int64
	activity time.Time
}

const (
	// lateness is by how much Events come late that are still told, in seconds.
	lateness = 60
	// maxEarlier is how many reconciliations of that time are remembered.
	maxEarlier = 4
)

// fold replaces the versions, requests and Events of t by the newest version
// and the names of its last reconciliations.
func (e *Engine) fold(t *timeline, recs []*reconciliation, d *derivation) {
	e.trimAudits(t, time.Time{})
	last := recs[len(recs)-1]
	was := t.past
	t.past = &past{
		line: last.line.id, span: last.id(), verb: last.verb, rv: last.first().rv, activity: last.activity,
		gone: t.removal != nil, began: last.first().second(),
	}
	t.past.follow(was, recs)
	if o := d.departedOf(t); o != nil {
		t.past.lost, t.past.replaced = true, o.replaced
	}
	if n := len(t.versions); n > 0 {
		t.versions = []*version{t.versions[n-1]}
		t.baseline()
	}
	t.events, t.requests = nil, nil
}

// follow remembers what came shortly before p: the reconciliations but the last,
// of which the first may be was itself.
func (p *past) follow(was *past, recs []*reconciliation) {
	var all []earlier
	if was != nil {
		if was.before != nil {
			all = slices.Clone(was.before.recs)
		}
		if was.line == p.line && was.span == p.span {
			p.began = was.began
		} else {
			all = append(all, earlier{was.line, was.span, was.rv, was.began, was.activity})
		}
	}
	for _, r := range recs[:len(recs)-1] {
		if was == nil || r.id() != was.span {
			all = append(all, earlier{r.line.id, r.id(), r.first().rv, r.first().second(), r.activity})
		}
	}
	all = slices.DeleteFunc(all, func(e earlier) bool { return p.began-e.activity.Unix() > lateness })
	if len(all) > 0 {
		p.before = &before{slices.Clone(all[max(0, len(all)-maxEarlier):])}
	}
}

// of returns the reconciliation of which an Event is: p, one before it, or nil if
// it is older than those that are remembered.
func (p *past) of(ev *event) *past {
	var recs []earlier
	if p.before != nil {
		recs = p.before.recs
	}
	second, found := ev.stamp.Unix(), p
	for i := len(recs); ; i-- {
		switch {
		case found.began == 0, second > found.began, second == found.began && ev.ResourceVersion > found.rv:
			return found
		case i == 0 && second == found.began:
			return found // Events have a storage of their own
		case i == 0:
			return nil
		}
		e := &recs[i-1]
		found = &past{line: e.line, span: e.span, rv: e.rv, began: e.began, activity: e.activity}
	}
}

// trim does the same, for what is older, to an object that had no
// reconciliation.
func (e *Engine) trim(t *timeline, before time.Time) {
	e.trimAudits(t, before)
	old := 0
	for old < len(t.versions)-1 && t.versions[old+1].seen.Before(before) {
		old++
	}
	if old > 0 {
		t.versions = slices.Clone(t.versions[old:])
	}
	if len(t.versions) > 0 && t.versions[0].seen.Before(before) {
		t.baseline()
	}
	t.events = slices.DeleteFunc(t.events, func(e *event) bool { return e.seen.Before(before) })
	t.requests = slices.DeleteFunc(t.requests, func(w *observation.Write) bool { return w.End.Before(before) })
}

// baseline makes the oldest version that is left what was there from the
// beginning.
func (t *timeline) baseline() {
	t.versions[0].baseline = true
	t.folded = true
}

// heard is when something was last heard of t.
func (t *timeline) heard() time.Time {
	var at time.Time
	if t.removal != nil {
		at = t.removal.seen
	}
	if t.past != nil {
		at = later(at, t.past.activity)
	}
	for _, e := range t.events {
		at = later(at, e.seen)
	}
	for _, w := range t.requests {
		at = later(at, w.End)
	}
	return at
}

// taken is what is remembered of a trace that Take has handed out.
type taken struct {
	// at is when; latest is when it was last heard of until then.
	at, latest time.Time
	// outside: it began with a context from outside.
	outside bool
	// originations are the writes, by resourceVersion, that belong to it
	// because of the context that they put on their objects. Whatever else
	// names the trace does not.
	originations []uint64
}

func (t *taken) has(rv uint64) bool {
	_, found := slices.BinarySearch(t.originations, rv)
	return found
}

// originations are the writes whose contexts made them part of the trace, in
// order.
func (d *derivation) originations(l *lineage) []uint64 {
	var out []uint64
	for _, r := range l.recs {
		byRequest := r.evidence == span.ByRequest && l.run == nil
		if r.evidence != span.ByAnnotation && !r.admitted && !byRequest {
			continue
		}
		for _, w := range r.writes {
			if w.originates() || byRequest && d.asked(w) != nil {
				out = append(out, w.rv)
			}
		}
	}
	slices.Sort(out)
	return out
}

// remembered is the last reconciliation of a folded timeline, so that what
// follows is told from it.
func (d *derivation) remembered(t *timeline) *reconciliation {
	p := t.past
	line := d.lines[p.line]
	if line == nil {
		line = &lineage{id: p.line, old: true}
		d.lines[p.line] = line
	}
	r := &reconciliation{
		folded: true, t: t, line: line, spanID: p.span, verb: p.verb, activity: p.activity, done: true,
		writes: []*write{{t: t, rv: p.rv, verb: p.verb, part: desired}}, took: kind.Everything, parts: kind.Everything,
	}
	d.folded = append(d.folded, r)
	return r
}

// rememberLoss puts a folded timeline that was lost where its replacement will
// look for it.
func (d *derivation) rememberLoss(t *timeline) {
	p := t.past
	if p == nil || !p.gone || !p.lost {
		return
	}
	if o := d.engine.controllerOf(t); o != nil {
		d.departed[o.UID] = append(
			d.departed[o.UID],
			&departure{t: t, rv: p.rv, rec: d.current(t.ref.UID), replaced: p.replaced},
		)
		slices.SortFunc(d.departed[o.UID], func(a, b *departure) int { return cmp.Compare(a.rv, b.rv) })
	}
}

func (d *derivation) departedOf(t *timeline) *departure {
	for _, list := range d.departed {
		for _, dep := range list {
			if dep.t == t {
				return dep
			}
		}
	}
	return nil
}
