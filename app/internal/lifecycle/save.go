// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// ErrFormat is the error of Restore for damaged or incomplete input, and for a state of another
// format version or another cluster. The error of Restore wraps it. A caller without another copy
// begins with a new Engine.
var ErrFormat = snapshot.ErrFormat

// Save writes the complete state of the engine. Restore returns an Engine that behaves exactly like
// this one. Another Save of that Engine gives the same bytes. Save streams its output, and does not
// change the engine. All errors are errors of w.
func (e *Engine) Save(w io.Writer) error {
	s := snapshot.NewWriter(w, e.last)
	e.save(s)
	if err := s.Close(); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	return nil
}

// Restore reads the output of Save, and not one byte more of r. The options are those of New. They
// are not saved, but the cluster must be the saved one. An error wraps ErrFormat or is an error of
// r. Restore then returns a nil Engine. The use of memory is at most a multiple of the input.
func Restore(opts Options, r io.Reader) (*Engine, error) {
	e := New(opts)
	if err := e.restore(r); err != nil {
		return nil, fmt.Errorf("cannot restore the engine: %w", err)
	}
	e.complete()
	return e, nil
}

func (e *Engine) restore(in io.Reader) error {
	v, err := snapshot.ReadVersion(in)
	switch {
	case err != nil:
		return err
	case v != snapshot.Version:
		return fmt.Errorf("%w: its format is version %d; the known one is %d", ErrFormat, v, snapshot.Version)
	}
	r := snapshot.NewReader(in)
	e.restoreAll(r)
	return r.Err()
}

func compareIDs(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) }

// save writes what cannot be derived. The look-ups of the index, the groups and their derivations follow from the
// rest.
func (e *Engine) save(s *snapshot.Writer) {
	h := &statepb.Header{
		Cluster: []byte(e.opts.Cluster), Compacted: s.Time(e.memory.compacted), Last: s.Time(e.last),
	}
	e.trail.Header(s, h)
	s.Header(h)
	for _, t := range neighbours(e.index.Objects()) {
		s.Part.Timelines = append(s.Part.Timelines, s.Timeline(t))
		s.Next()
	}
	for id, r := range snapshot.ByKey(e.index.Runs(), compareIDs) {
		s.Part.Runs = append(s.Part.Runs, &statepb.KeyedRun{TraceId: s.TraceID(id), Run: s.Run(r)})
		s.Next()
	}
	for key, w := range snapshot.ByKey(e.index.Refused(), cmp.Compare) {
		s.Part.Refused = append(s.Part.Refused, &statepb.KeyedRequest{Key: s.Text(key), Request: s.Request(w)})
		s.Next()
	}
	for name, n := range snapshot.ByKey(e.index.Nodes(), cmp.Compare) {
		s.Part.Nodes = append(s.Part.Nodes, &statepb.KeyedNode{Name: s.Text(name), Node: s.Node(n)})
		s.Next()
	}
	for id, t := range snapshot.ByKey(e.memory.taken, compareIDs) {
		s.Part.Taken = append(s.Part.Taken, s.Taken(id, t))
		s.Next()
	}
	for i := range e.late.facts {
		s.Part.Late = append(s.Part.Late, savedAmendment(s, &e.late.facts[i]))
		s.Next()
	}
	for _, l := range snapshot.ByKey(e.memory.series, cmp.Compare) {
		s.Part.Series = append(s.Part.Series, savedSeries(s, l))
		s.Next()
	}
	for uid, c := range snapshot.ByKey(e.memory.contests, cmp.Compare) {
		s.Part.Contests = append(s.Part.Contests, s.Contests(uid, c))
		s.Next()
	}
	e.trail.Save(s)
	e.endpoints.save(s)
}

// neighbours returns the timelines so that objects with common values are close to each other: by
// kind, namespace and name. The Writer knows only recent values.
func neighbours(objects map[types.UID]*change.Timeline) []*change.Timeline {
	return slices.SortedFunc(maps.Values(objects), func(a, b *change.Timeline) int {
		return cmp.Or(
			cmp.Compare(a.Ref.Kind.Kind, b.Ref.Kind.Kind),
			cmp.Compare(a.Ref.Kind.Group, b.Ref.Kind.Group),
			cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
			cmp.Compare(a.Ref.Name, b.Ref.Name),
			cmp.Compare(a.Ref.UID, b.Ref.UID),
		)
	})
}

func (e *Engine) restoreAll(r *snapshot.Reader) {
	for p := r.Next(); p != nil; p = r.Next() {
		if h := p.Header; h != nil {
			if string(h.Cluster) != e.opts.Cluster {
				r.Fail("it is of cluster %q, not %q", h.Cluster, e.opts.Cluster)
			}
			e.memory.compacted, e.last = r.Time(h.Compacted), r.Time(h.Last)
			e.trail.RestoreHeader(r, h)
		}
		e.restorePart(r, p)
	}
}

func (e *Engine) restorePart(r *snapshot.Reader, p *statepb.Part) {
	for _, m := range p.Timelines {
		e.index.Restore(r.Timeline(m))
	}
	for _, m := range p.Runs {
		e.index.AddRun(r.TraceID(m.TraceId), r.Run(m.Run))
	}
	for _, m := range p.Refused {
		e.index.RestoreRefused(r.Text(m.Key), r.Request(m.Request))
	}
	for _, m := range p.Nodes {
		e.index.SetNode(r.Text(m.Name), r.Node(m.Node))
	}
	for _, m := range p.Taken {
		id, t := r.Taken(m)
		e.memory.taken[id] = t
	}
	for _, m := range p.Late {
		e.late.facts = append(e.late.facts, restoredAmendment(r, m))
	}
	for _, m := range p.Series {
		l := restoredSeries(r, m)
		e.memory.series[l.Ref.UID] = l
	}
	for _, m := range p.Contests {
		uid, c := r.Contests(m)
		e.memory.contests[uid] = c
	}
	e.trail.Restore(r, p)
	e.endpoints.restore(r, p)
}

// complete derives the look-ups and the groups of a restored engine.
func (e *Engine) complete() {
	for _, t := range e.index.Objects() {
		trail.Doubt(t)
		e.index.Complete(t)
		if len(t.Versions) > 0 {
			e.endpoints.first(t)
		}
	}
	e.regroup(func(t *change.Timeline) bool { return !t.Idle(e.opts.Rebuild) })
	e.endpoints.restorePending()
	e.hold()
}

// regroup replaces all groups by new ones, made from the active timelines, the commands and the
// refused writes.
func (e *Engine) regroup(active func(*change.Timeline) bool) {
	e.groups.clear()
	for _, t := range e.index.Objects() {
		if active(t) {
			e.groups.again(t)
		}
	}
	for id := range e.index.Runs() {
		e.groups.changedRun(id)
	}
	for id := range e.trail.Refused() {
		e.groups.changedRefusal(id)
	}
}

func savedAmendment(s *snapshot.Writer, a *amendment) *statepb.Amendment {
	m := &statepb.Amendment{
		Ref:     s.Ref(&a.ref),
		Service: s.Text(a.service),
		Past:    s.Past(&a.past),
		Key:     s.Text(a.key),
		At:      s.Time(a.at),
		Rv:      a.rv,
		Repeats: a.repeats,
		Fight:   s.Fight(a.fight),
	}
	if a.event != nil {
		m.Event = s.Event(a.event)
	}
	if a.write != nil {
		m.Write = s.Request(a.write)
	}
	return m
}

func restoredAmendment(r *snapshot.Reader, m *statepb.Amendment) amendment {
	a := amendment{
		ref:     r.Ref(m.Ref),
		service: r.Text(m.Service),
		past:    r.Past(m.Past),
		key:     r.Text(m.Key),
		at:      r.Time(m.At),
		rv:      m.Rv,
		repeats: m.Repeats,
		fight:   r.Fight(m.Fight),
	}
	if m.Event != nil {
		a.event = r.Event(m.Event)
	}
	if m.Write != nil {
		a.write = r.Request(m.Write)
	}
	return a
}

func savedSeries(s *snapshot.Writer, l *change.SeriesList) *statepb.SeriesList {
	m := &statepb.SeriesList{Ref: s.Ref(&l.Ref)}
	for i := range l.All {
		one := &l.All[i]
		m.All = append(m.All, &statepb.Series{
			Author:     s.Text(one.Author),
			Fields:     s.Text(one.Fields),
			Line:       s.TraceID(one.Line),
			Span:       s.SpanID(one.Span),
			Writes:     one.Writes,
			Reported:   one.Reported,
			Rv:         one.RV,
			Last:       s.Time(one.Last),
			ReportedAt: s.Time(one.ReportedAt),
		})
	}
	return m
}

func restoredSeries(r *snapshot.Reader, m *statepb.SeriesList) *change.SeriesList {
	l := &change.SeriesList{Ref: r.Ref(m.Ref), All: make([]change.Series, len(m.All))}
	for i, one := range m.All {
		l.All[i] = change.Series{
			Author:     r.Text(one.Author),
			Fields:     r.Text(one.Fields),
			Line:       r.TraceID(one.Line),
			Span:       r.SpanID(one.Span),
			Writes:     one.Writes,
			Reported:   one.Reported,
			RV:         one.Rv,
			Last:       r.Time(one.Last),
			ReportedAt: r.Time(one.ReportedAt),
		}
	}
	return l
}
