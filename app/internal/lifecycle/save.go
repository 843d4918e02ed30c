// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// ErrFormat is the error of Restore for damaged or incomplete input, and for a state of another
// format version or another cluster. The error of Restore wraps it. A caller without another copy
// begins with a new Engine.
var ErrFormat = snapshot.ErrFormat

// Save writes the complete state of the engine. Restore returns an Engine that behaves exactly like
// this one. Another Save of that Engine gives the same bytes. Save streams its output, and does not
// change the engine. All errors are errors of w.
func (e *Engine) Save(w io.Writer) error {
	s := saver{snapshot.NewWriter(w, e.last)}
	s.engine(e)
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
	e.reindex()
	e.pendingPublications()
	e.hold()
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
	r := restorer{snapshot.NewReader(in)}
	r.engine(e)
	return r.Err()
}

func compareIDs(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) }

// saver converts an engine to its saved state. The engine's derivation, index and pools follow from
// the rest, and are not saved.
type saver struct{ *snapshot.Writer }

// restorer converts a saved state to an engine.
type restorer struct{ *snapshot.Reader }

func (s saver) engine(e *Engine) {
	s.Header(&statepb.Header{
		Cluster:     []byte(e.opts.Cluster),
		Compacted:   s.Time(e.compacted),
		Last:        s.Time(e.last),
		AuditDelay:  int64(e.auditDelay),
		AuditAt:     s.Time(e.auditAt),
		TrailTurned: s.Time(e.trail.turned),
	})
	for _, t := range s.neighbours(e) {
		s.Part.Timelines = append(s.Part.Timelines, s.Timeline(t))
		s.Next()
	}
	for id, r := range byKey(e.runs, compareIDs) {
		s.Part.Runs = append(s.Part.Runs, &statepb.KeyedRun{TraceId: s.TraceID(id), Run: s.Run(r)})
		s.Next()
	}
	for key, w := range byKey(e.refused, cmp.Compare) {
		s.Part.Refused = append(s.Part.Refused, &statepb.KeyedRequest{Key: s.Text(key), Request: s.Request(w)})
		s.Next()
	}
	for name, n := range byKey(e.nodes, cmp.Compare) {
		s.Part.Nodes = append(s.Part.Nodes, &statepb.KeyedNode{Name: s.Text(name), Node: s.Node(n)})
		s.Next()
	}
	for id, t := range byKey(e.taken, compareIDs) {
		s.Part.Taken = append(s.Part.Taken, s.Taken(id, t))
		s.Next()
	}
	for i := range e.late {
		s.Part.Late = append(s.Part.Late, s.amendment(&e.late[i]))
		s.Next()
	}
	for _, l := range byKey(e.series, cmp.Compare) {
		s.Part.Series = append(s.Part.Series, s.seriesList(l))
		s.Next()
	}
	for uid, c := range byKey(e.contests, cmp.Compare) {
		s.Part.Contests = append(s.Part.Contests, s.Contests(uid, c))
		s.Next()
	}
	s.trail(&e.trail)
	s.endpoints(e)
}

// neighbours returns the timelines so that objects with common values are close to each other: by
// kind, namespace and name. The Writer knows only recent values.
func (saver) neighbours(e *Engine) []*change.Timeline {
	return slices.SortedFunc(maps.Values(e.objects), func(a, b *change.Timeline) int {
		return cmp.Or(
			cmp.Compare(a.Ref.Kind.Kind, b.Ref.Kind.Kind),
			cmp.Compare(a.Ref.Kind.Group, b.Ref.Kind.Group),
			cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
			cmp.Compare(a.Ref.Name, b.Ref.Name),
			cmp.Compare(a.Ref.UID, b.Ref.UID),
		)
	})
}

// byKey yields the entries of m in the order of their keys.
func byKey[K comparable, V any](m map[K]V, order func(a, b K) int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(m), order) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func (r restorer) engine(e *Engine) {
	for p := r.Next(); p != nil; p = r.Next() {
		if h := p.Header; h != nil {
			if string(h.Cluster) != e.opts.Cluster {
				r.Fail("it is of cluster %q, not %q", h.Cluster, e.opts.Cluster)
			}
			e.compacted, e.last = r.Time(h.Compacted), r.Time(h.Last)
			e.auditDelay, e.auditAt = time.Duration(h.AuditDelay), r.Time(h.AuditAt)
			e.trail.turned = r.Time(h.TrailTurned)
		}
		r.part(e, p)
	}
}

func (r restorer) part(e *Engine, p *statepb.Part) {
	for _, m := range p.Timelines {
		t := r.Timeline(m)
		e.objects[t.Ref.UID] = t
	}
	for _, m := range p.Runs {
		e.runs[r.TraceID(m.TraceId)] = r.Run(m.Run)
	}
	for _, m := range p.Refused {
		e.refused[r.Text(m.Key)] = r.Request(m.Request)
	}
	for _, m := range p.Nodes {
		e.nodes[r.Text(m.Name)] = r.Node(m.Node)
	}
	for _, m := range p.Taken {
		id, t := r.Taken(m)
		e.taken[id] = t
	}
	for _, m := range p.Late {
		e.late = append(e.late, r.amendment(m))
	}
	for _, m := range p.Series {
		l := r.seriesList(m)
		e.series[l.ref.UID] = l
	}
	for _, m := range p.Contests {
		uid, c := r.Contests(m)
		e.contests[uid] = c
	}
	r.trail(&e.trail, p)
	r.endpoints(e, p)
}

func (s saver) amendment(a *amendment) *statepb.Amendment {
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

func (r restorer) amendment(m *statepb.Amendment) amendment {
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

func (s saver) seriesList(l *seriesList) *statepb.SeriesList {
	m := &statepb.SeriesList{Ref: s.Ref(&l.ref)}
	for i := range l.all {
		one := &l.all[i]
		m.All = append(m.All, &statepb.Series{
			Author:     s.Text(one.author),
			Fields:     s.Text(one.fields),
			Line:       s.TraceID(one.line),
			Span:       s.SpanID(one.span),
			Writes:     one.writes,
			Reported:   one.reported,
			Rv:         one.rv,
			Last:       s.Time(one.last),
			ReportedAt: s.Time(one.reportedAt),
		})
	}
	return m
}

func (r restorer) seriesList(m *statepb.SeriesList) *seriesList {
	l := &seriesList{ref: r.Ref(m.Ref), all: make([]series, len(m.All))}
	for i, one := range m.All {
		l.all[i] = series{
			author:     r.Text(one.Author),
			fields:     r.Text(one.Fields),
			line:       r.TraceID(one.Line),
			span:       r.SpanID(one.Span),
			writes:     one.Writes,
			reported:   one.Reported,
			rv:         one.Rv,
			last:       r.Time(one.Last),
			reportedAt: r.Time(one.ReportedAt),
		}
	}
	return l
}
