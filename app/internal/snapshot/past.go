// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Past returns the saved form of the summary of a reconciliation.
func (w *Writer) Past(p *change.Past) *statepb.Past {
	m := w.slabs.pasts.next()
	*m = statepb.Past{
		TraceId:  w.TraceID(p.TraceID),
		SpanId:   w.SpanID(p.SpanID),
		Verb:     w.Text(p.Verb.String()),
		Rv:       p.RV,
		From:     p.From,
		Activity: w.Time(p.Activity),
		Gone:     p.Gone,
		Lost:     p.Lost,
		Replaced: p.Replaced,
		Began:    p.Began,
		Arrived:  p.Arrived,
		Template: p.Template,
	}
	if p.Before != nil {
		m.Before = messages(w, p.Before.Recs, savedEarlier)
	}
	return m
}

// Past returns the summary of a reconciliation.
func (r *Reader) Past(m *statepb.Past) change.Past {
	if m == nil {
		return change.Past{}
	}
	p := change.Past{
		TraceID:  r.TraceID(m.TraceId),
		SpanID:   r.SpanID(m.SpanId),
		Verb:     history.ParseVerb(r.Text(m.Verb)),
		RV:       m.Rv,
		From:     cmp.Or(m.From, m.Rv), // unknown in a state of an earlier build
		Activity: r.Time(m.Activity),
		Gone:     m.Gone,
		Lost:     m.Lost,
		Replaced: m.Replaced,
		Began:    m.Began,
		Arrived:  m.Arrived,
		Template: m.Template,
	}
	if len(m.Before) > 0 {
		p.Before = &change.Before{Recs: values(r, m.Before, readEarlier)}
	}
	return p
}

func savedEarlier(w *Writer, e change.Earlier) *statepb.Earlier {
	return &statepb.Earlier{
		TraceId:  w.TraceID(e.TraceID),
		SpanId:   w.SpanID(e.SpanID),
		Rv:       e.RV,
		From:     e.From,
		Began:    e.Began,
		Activity: w.Time(e.Activity),
	}
}

func readEarlier(r *Reader, m *statepb.Earlier) change.Earlier {
	return change.Earlier{
		TraceID:  r.TraceID(m.TraceId),
		SpanID:   r.SpanID(m.SpanId),
		RV:       m.Rv,
		From:     cmp.Or(m.From, m.Rv),
		Began:    m.Began,
		Activity: r.Time(m.Activity),
	}
}

func savedInstant(w *Writer, i change.Instant) *statepb.Instant {
	m := &statepb.Instant{
		TraceId: w.TraceID(i.TraceID),
		SpanId:  w.SpanID(i.SpanID),
		Rv:      i.RV,
		At:      w.Time(i.At),
		User:    w.Text(i.User),
		Manager: w.Text(i.Manager), Revision: w.Text(i.Revision),
	}
	for _, p := range i.Paths {
		m.Paths = append(m.Paths, w.Text(p))
	}
	return m
}

func readInstant(r *Reader, m *statepb.Instant) change.Instant {
	return change.Instant{
		TraceID: r.TraceID(m.TraceId),
		SpanID:  r.SpanID(m.SpanId),
		RV:      m.Rv,
		At:      r.Time(m.At),
		User:    r.Text(m.User),
		Manager: r.Text(m.Manager),
		Paths:   texts(r, m.Paths), Revision: r.Text(m.Revision),
	}
}

func savedRevisable(w *Writer, v *change.Revisable) *statepb.Revisable {
	if v == nil {
		return nil
	}
	return &statepb.Revisable{
		TraceId: w.TraceID(v.TraceID), SpanId: w.SpanID(v.SpanID), Verb: w.Text(v.Verb.String()),
		Number: int64(v.Number), Outcome: w.Text(string(v.Outcome)), Message: w.Text(v.Message),
	}
}

func readRevisable(r *Reader, m *statepb.Revisable) *change.Revisable {
	if m == nil {
		return nil
	}
	return &change.Revisable{
		TraceID: r.TraceID(m.TraceId), SpanID: r.SpanID(m.SpanId), Verb: history.ParseVerb(r.Text(m.Verb)),
		Number: int(m.Number), Outcome: span.Outcome(r.Text(m.Outcome)), Message: r.Text(m.Message),
	}
}

// Taken returns the saved form of a trace that was handed out.
func (w *Writer) Taken(id trace.TraceID, t change.Taken) *statepb.Taken {
	w.values += len(t.Originations) + len(t.Blocking)
	var blocking []uint64
	for _, uid := range t.Blocking {
		blocking = append(blocking, w.Text(string(uid)))
	}
	return &statepb.Taken{
		TraceId:      w.TraceID(id),
		At:           w.Time(t.At),
		Latest:       w.Time(t.Latest),
		Outside:      t.Outside,
		Originations: t.Originations,
		Outcome:      w.Text(string(t.Outcome)),
		Blocking:     blocking,
		Root:         w.SpanID(t.Root),
	}
}

// Taken returns the trace that was handed out.
func (r *Reader) Taken(m *statepb.Taken) (trace.TraceID, change.Taken) {
	t := change.Taken{
		At:           r.Time(m.At),
		Latest:       r.Time(m.Latest),
		Outside:      m.Outside,
		Originations: m.Originations,
		Outcome:      span.Outcome(r.Text(m.Outcome)),
		Root:         r.SpanID(m.Root),
	}
	for _, uid := range m.Blocking {
		t.Blocking = append(t.Blocking, types.UID(r.Text(uid)))
	}
	return r.TraceID(m.TraceId), t
}
