// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Audited returns the request of the audit log that made w, or nil if none is known. It gives the
// time and the author of a write. It affects only one decision about causes: whether the owner's
// controller was the author (rule A2).
func (d *derivation) Audited(w *change.Write) *audit.Joined {
	if w.Audit != nil {
		return w.Audit
	}
	if w.Reconstructed || w.Timeline.Audits == nil {
		return nil
	}
	j := d.engine.joins(w.Timeline)
	if w.Version == nil {
		if j.Removal.Write != nil && w.Timeline.Removal != nil && w.RV == w.Timeline.Removal.RV {
			return &j.Removal
		}
		return nil
	}
	if found, ok := j.Version[w.ObjectVersion()]; ok {
		return &found
	}
	return nil
}

// auditedSpan makes the span of a write with a request in the audit log. The write is to the object
// of r, or to one above it.
func auditedSpan(w *change.Write, r *change.Reconciliation, q *audit.Joined) *span.Span {
	req := *q.Write
	req.Ref = w.Timeline.Ref
	if req.ResourceVersion == 0 { // not in the response, but known from the watch
		req.ResourceVersion = w.ObjectVersion()
	}
	s := auditSpan(r.Lineage, &req)
	s.Parent = r.ID()
	if audit.Unnamed(q.Write) {
		s.Service = cmp.Or(w.Actor(), s.Service)
	}
	s.Attributes = append(s.Attributes, span.KeyPart.String(string(w.Part)), span.KeyAuditMatch.String(string(q.How)))
	s.Attributes = appendEdits(s.Attributes, w)
	s.Facts = requested(s, &req)
	completeWrite(s, w, q)
	return s
}

// auditSpan makes the span of a request in the audit log.
func auditSpan(l *change.Lineage, q *observation.Write) *span.Span {
	plain := *q
	plain.TraceParent = ""
	s := writeSpan(l.ID, &plain)
	s.ID = span.DeriveID(
		l.ID,
		string(q.UID),
		"audit",
		q.AuditID,
		q.Start.UTC().Format(time.RFC3339Nano),
		strconv.FormatUint(q.ResourceVersion, 10),
	)
	s.Service = cause.AuthorOf(q)
	s.Start.Source, s.End.Source = span.TimeAudit, span.TimeAudit
	s.Attributes = append(s.Attributes, userOf(q)...)
	if sc := cause.ParseContext(q.Server, ""); sc.IsValid() && sc.TraceID() != l.ID {
		s.Links = append(
			s.Links,
			span.Link{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Reason: span.LinkServer},
		)
	}
	return s
}

// userOf returns the user of the request, with the source of that name, as attributes.
func userOf(q *observation.Write) []attribute.KeyValue {
	var out []attribute.KeyValue
	if q.User != "" {
		source := span.UserAudit
		if q.Unauthenticated {
			source = span.UserUnauthenticated
		}
		out = append(out, span.KeyActorUser.String(span.Bound(q.User)), span.KeyUserSource.String(source))
	}
	if q.Impersonator != "" {
		out = append(out, span.KeyImpersonator.String(span.Bound(q.Impersonator)))
	}
	return out
}

// author returns the component that made w, also by the audit log, or "".
func (d *derivation) author(w *change.Write) string {
	if q := d.Audited(w); q != nil && w.Request == nil && !audit.Unnamed(q.Write) {
		return cause.AuthorOf(q.Write)
	}
	if d.Autoscaler(w) != nil {
		return kind.HorizontalPodAutoscaler.Controller
	}
	return w.Actor()
}

// Began returns the time of the request of w, with the best known precision. It is for spans only,
// never for conclusions.
func (d *derivation) Began(w *change.Write) history.Moment {
	q := d.Audited(w)
	if q == nil || w.Request != nil || w.Version != nil && q.Start.After(w.Version.Seen) {
		return w.At // also if the clocks differ
	}
	return history.Moment{Lo: q.Start, Hi: q.Start, Exact: span.TimeAudit}
}

// Start returns the start of the span of r. It is not later than the effects of r (rule T).
func (d *derivation) Start(r *change.Reconciliation) history.Moment {
	if r.Start != nil {
		return *r.Start
	}
	m := d.Began(r.First())
	r.Start = &m
	for _, c := range r.Children {
		if below := d.Start(c); below.Exact == span.TimeAudit {
			m = m.Before(below.Hi)
		}
	}
	return m
}

// Stored returns the time of the storage of v, with the best known precision. The latest possible
// time is the response to the request that stored v.
func (d *derivation) Stored(t *change.Timeline, v *history.Version) history.Moment {
	if t.Audits != nil {
		if q, ok := d.engine.joins(t).Version[v.ObjectVersion()]; ok {
			return history.Moment{Lo: q.End, Hi: q.End, Exact: span.TimeAudit}
		}
	}
	return history.Arrival(v)
}

// StoredIn is Stored within the second that starts at since, by a timestamp of the object. A
// kubelet may report the change later.
func (d *derivation) StoredIn(t *change.Timeline, v *history.Version, since time.Time) history.Moment {
	m := d.Stored(t, v)
	if m.Exact != "" && (since.IsZero() || !m.Hi.Before(since) && m.Hi.Before(since.Add(time.Second))) {
		return m
	}
	return history.Arrival(v).Within(since)
}

// Gone returns the time of the removal of the object.
func (d *derivation) Gone(t *change.Timeline) history.Moment {
	if t.Audits != nil {
		if q := d.engine.joins(t).Removal; q.Write != nil {
			return history.Moment{Lo: q.End, Hi: q.End, Exact: span.TimeAudit}
		}
	}
	return history.Moment{Hi: t.Removal.Seen, Live: !t.Removal.Listed}
}

// missed adds the writes that only the audit log contains. It derives their parts from the
// requests: a write to desired state increments the generation.
func (e *Engine) missed(t *change.Timeline, out []change.Write, from int) []change.Write {
	if t.Audits == nil {
		return out
	}
	for _, q := range e.joins(t).Missed {
		place, _ := t.Place(q.ResourceVersion)
		i := from
		for i < len(out) && out[i].RV < place {
			i++
		}
		w := change.Write{
			Timeline: t,
			RV:       place,
			Verb:     history.Updated,
			Part:     change.Bookkeeping,
			Manager:  q.Manager,
			Audit:    &q,
		}
		w.At = history.Moment{Lo: q.Start, Hi: q.End}
		known, _ := t.Position(place)
		if known > 0 {
			w.Before = t.Versions[known-1].ObjectVersion()
		}
		if i > from && out[i-1].ObjectVersion() > w.Before {
			w.Before = out[i-1].ObjectVersion()
		}
		if i < len(out) {
			out[i].Before = w.ObjectVersion()
		}
		switch {
		case q.Subresource == "status", q.Subresource == "binding":
			w.Part = change.Observed
		case known > 0 && q.Generation > t.Versions[known-1].Generation && t.Versions[known-1].Generation > 0:
			w.Part = change.Desired
		}
		out = append(out, change.Write{})
		copy(out[i+1:], out[i:])
		out[i] = w
	}
	return out
}
