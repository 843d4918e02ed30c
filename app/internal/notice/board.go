// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxTold bounds the remembered problems of one receiver. Above it, further problems wait.
const maxTold = 10_000

// Receiver is the choice of notices for one receiver.
type Receiver struct {
	// Name is unique on a Board.
	Name string
	// After is the time that a problem lasts before its notice.
	After time.Duration
	// Types are the types of the notices.
	Types []Type
	// Namespaces has the namespace of one of the problem's objects; empty means all problems.
	Namespaces []string
}

// Board decides which notices are due for each receiver, and keeps them until they are delivered. Its
// state survives a restart. It is safe for concurrent use.
type Board struct {
	mu        sync.Mutex
	receivers []*receiver
	// dirty means that the state has changed since the last call of State.
	dirty bool
	// restored means that the state is that of an earlier Board. began is the time of the first look.
	restored bool
	began    time.Time
	// report waits for the next look; nil without a new one.
	report *shift.Report
}

// receiver is the state of one receiver.
type receiver struct {
	Receiver

	// told are the problems with a notice of type Started, by the ID in that notice. slower are the regressions with
	// a notice of type Slower, and worse the changes with a notice of type Worse, with its time.
	told   map[string]*told
	slower map[string]*toldSlower
	worse  map[trace.TraceID]time.Time
	queue  queue
	// due is the time of the next notice if nothing else happens; zero without one.
	due time.Time
	// dropped counts the notices that found the queue full.
	dropped int64
	wake    chan struct{}
}

// told is a problem with a notice of type Started.
type told struct {
	notice Notice
	// present is the ID of the problem that has the object now. Problems with one cause may become one.
	present string
	// category is that of the last notice. Since changed, the problem has had another one.
	category string
	changed  time.Time
}

// NewBoard returns a Board for the receivers. data is the State of an earlier Board, or nil. The Board is
// usable after an error, too.
func NewBoard(receivers []Receiver, data []byte) (*Board, error) {
	b := &Board{}
	for _, r := range receivers {
		b.receivers = append(b.receivers, &receiver{
			Receiver: r,
			told:     map[string]*told{},
			slower:   map[string]*toldSlower{},
			worse:    map[trace.TraceID]time.Time{},
			wake:     make(chan struct{}, 1),
		})
	}
	if len(data) == 0 {
		return b, nil
	}
	b.restored = true
	return b, b.restore(data)
}

// receiver returns the receiver of that name, or nil.
func (b *Board) receiver(name string) *receiver {
	i := slices.IndexFunc(b.receivers, func(r *receiver) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return b.receivers[i]
}

// Look adds the notices that are due at the time now. problems are all present ones; if they are not, or
// have no time, no problem counts as ended. Only problems of the list begin. finished are the changes that have ended
// since the last look, and the amendments of earlier ones. silent means that another server delivers the notices: they
// count as told.
//
// After a restart, no problem counts as ended for problem.Lasting: the engine may have lost its state.
func (b *Board) Look(now time.Time, problems *problem.Snapshot, finished []*span.Trace, silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began.IsZero() {
		b.began = now
	}
	present := index(problems)
	settles := b.began.Add(problem.Lasting)
	unsettled := b.restored && now.Before(settles)
	present.complete = present.complete && !unsettled
	for _, r := range b.receivers {
		w := &look{receiver: r, now: now, silent: silent}
		r.due = time.Time{}
		if unsettled && len(r.told) > 0 {
			r.due = settles
		}
		if r.wants(Started) || r.wants(Changed) || r.wants(Resolved) {
			w.follow(present)
			w.start(present)
		}
		w.fail(present, finished)
		w.worsen(present, finished)
		w.regress(b.report)
		b.dirty = b.dirty || w.dirty
	}
	b.report = nil
}

// look is one look for one receiver.
type look struct {
	*receiver

	now           time.Time
	silent, dirty bool
}

// add adds a notice of a wanted type, and reports whether there was room for it.
func (l *look) add(n Notice) bool {
	if !l.wants(n.Type) || l.silent {
		return true
	}
	if l.queue.full() {
		return false
	}
	l.queue.add(n)
	l.dirty = true
	return true
}

// follow adds notices about the ends and the changes of told problems. Without room, the next look adds them.
func (l *look) follow(all *presence) {
	for _, t := range l.sorted() {
		p := all.byID[t.present]
		if p == nil {
			if p = all.holder(t.notice.Object); p != nil { // also beyond the named objects
				t.present, l.dirty = p.ID, true
			}
		}
		switch {
		case p != nil:
			l.change(t, p)
		case !all.complete, all.of.Lasts(t.present, uidOf(t.notice.Object)):
		case l.add(t.end(l.now)):
			delete(l.told, t.notice.Problem)
			l.dirty = true
		}
	}
}

// change adds a notice about another category, after it has lasted as long as a new problem has to.
func (l *look) change(t *told, p *problem.Problem) {
	switch {
	case p.Category == t.category || !l.wants(Changed):
		t.changed = time.Time{}
		return
	case t.changed.IsZero():
		t.changed = l.now
	}
	if !l.lasts(t.changed) {
		return
	}
	n := about(Changed, t.notice.Problem, p, l.now)
	n.First, n.Object = t.notice.First, t.notice.Object
	if l.add(n) {
		t.notice, t.category, t.changed, l.dirty = n, p.Category, time.Time{}, true
	}
}

// lasts reports whether a state has lasted long enough for a notice.
func (l *look) lasts(since time.Time) bool {
	due := since.Add(l.After)
	if !due.After(l.now) {
		return true
	}
	if l.due.IsZero() || due.Before(l.due) {
		l.due = due
	}
	return false
}

// end returns the notice about the end of a told problem.
func (t *told) end(now time.Time) Notice {
	n := t.notice
	n.ID, n.Type, n.Time, n.Next = n.Problem+"/resolved", Resolved, now.UTC(), ""
	return n
}

// start adds notices about new problems. Without room, the next look adds them.
func (l *look) start(all *presence) {
	known := map[string]bool{}
	for _, t := range l.told {
		known[t.present] = true
	}
	for i := range all.problems {
		p := &all.problems[i]
		if known[p.ID] || l.told[p.ID] != nil || len(l.Namespaces) > 0 && !all.of.Touches(i, l.Namespaces) {
			continue
		}
		if !l.lasts(p.Since) || len(l.told) >= maxTold {
			continue
		}
		if n := about(Started, p.ID, p, l.now); l.add(n) {
			l.told[p.ID], l.dirty = &told{notice: n, present: p.ID, category: p.Category}, true
		}
	}
}

// fail adds notices about failed changes. The notice about a problem has its change already.
func (l *look) fail(all *presence, finished []*span.Trace) {
	if !l.wants(Failed) {
		return
	}
	for _, t := range finished {
		if !failed(t) || !l.selects(ChangedObject(t).Namespace) || l.wants(Started) && all.explains(t) {
			continue
		}
		if !l.add(aboutChange(t, l.now)) {
			l.dropped++
		}
	}
}

func (r *receiver) wants(t Type) bool { return slices.Contains(r.Types, t) }

// selects reports whether notices about a namespace are wanted.
func (r *receiver) selects(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// presence has the present problems.
type presence struct {
	of       *problem.Snapshot
	problems []problem.Problem
	byID     map[string]*problem.Problem
	byObject map[object.Ref]*problem.Problem
	byTrace  map[string]bool
	// complete means that a problem outside has ended.
	complete bool
}

func index(l *problem.Snapshot) *presence {
	out := &presence{
		of: l, problems: l.Problems, complete: l.Whole(),
		byID:     make(map[string]*problem.Problem, len(l.Problems)),
		byObject: map[object.Ref]*problem.Problem{}, byTrace: map[string]bool{},
	}
	for i := range l.Problems {
		p := &l.Problems[i]
		out.byID[p.ID] = p
		if p.Cause != nil {
			out.byTrace[p.Cause.TraceID] = true
		}
		for _, o := range append([]object.Ref{p.Object}, p.Objects...) {
			if _, known := out.byObject[identity(o)]; !known { // the worst first
				out.byObject[identity(o)] = p
			}
		}
	}
	return out
}

// identity returns an object without its version.
func identity(o object.Ref) object.Ref {
	o.Version = ""
	return o
}

// holder returns the problem that has the object, or nil.
func (p *presence) holder(o *object.Ref) *problem.Problem {
	if o == nil {
		return nil
	}
	if named := p.byObject[identity(*o)]; named != nil {
		return named
	}
	if one := p.of.Of(o.UID, nil); one != nil {
		return p.byID[one.ID]
	}
	return nil
}

func uidOf(o *object.Ref) types.UID {
	if o == nil {
		return ""
	}
	return o.UID
}

// explains reports whether a problem has a failed change as its cause, or its object.
func (p *presence) explains(t *span.Trace) bool {
	of := ChangedObject(t)
	return p.byTrace[t.ID.String()] || p.holder(&of) != nil
}

// Changed reports whether State has something new.
func (b *Board) Changed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dirty
}

// Due reports whether a Look at the time now adds notices even if nothing has changed.
func (b *Board) Due(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.report != nil ||
		slices.ContainsFunc(b.receivers, func(r *receiver) bool { return !r.due.IsZero() && !r.due.After(now) })
}

// Stored reports that the last State is in the store, with the traces of its notices. Only then are they
// delivered, so that a receiver can read the trace.
func (b *Board) Stored() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.receivers {
		r.queue.stored = len(r.queue.all)
		r.call()
	}
}

// call wakes the sender of the receiver.
func (r *receiver) call() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next returns an entry to deliver now. Without one, it returns the time of the next attempt, or zero.
func (b *Board) next(r *receiver, now time.Time) (*entry, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return r.queue.next(now)
}

// done removes a delivered or refused entry.
func (b *Board) done(r *receiver, e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.queue.remove(e)
	b.dirty = true
	r.call()
}

// again plans another attempt.
func (b *Board) again(r *receiver, e *entry, due time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.busy, e.due = false, due
	r.call()
}

// active returns the last notices about the told problems and regressions that last.
func (b *Board) active(r *receiver) []Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Notice
	for _, t := range r.sorted() {
		out = append(out, t.notice)
	}
	for _, t := range r.slow() {
		out = append(out, t.notice)
	}
	return out
}

// waiting returns the number of pending notices, and that of the notices dropped so far.
func (b *Board) waiting(r *receiver) (pending int, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(r.queue.all), r.dropped
}
