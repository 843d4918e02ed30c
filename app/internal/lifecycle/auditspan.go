// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// audited returns the request of the audit log that made w, nil if none is
// known. It gives the time and the author of a write. Of causes it decides only whether the owner's
// controller was the author (rule A2).
func (d *derivation) audited(w *write) *joined {
	if w.audit != nil {
		return w.audit
	}
	if w.reconstructed || w.t.audits == nil {
		return nil
	}
	j := d.engine.joins(w.t)
	if w.v == nil {
		if j.removal.Write != nil && w.t.removal != nil && w.rv == w.t.removal.rv {
			return &j.removal
		}
		return nil
	}
	if found, ok := j.version[w.rv]; ok {
		return &found
	}
	return nil
}

// span is that of a write which the audit log tells of, on r or one above.
func (w *write) span(r *reconciliation, q *joined) *span.Span {
	req := *q.Write
	req.Ref = w.t.ref
	if req.ResourceVersion == 0 { // the answer did not tell, the watch did
		req.ResourceVersion = w.rv
	}
	s := auditSpan(r.line, &req)
	s.Parent = r.id()
	if unnamed(q.Write) {
		s.Service = cmp.Or(w.actor(), s.Service)
	}
	s.Attributes = append(s.Attributes, span.KeyPart.String(string(w.part)), span.KeyAuditMatch.String(string(q.how)))
	return s
}

// auditSpan makes the span of a request of the audit log.
func auditSpan(l *lineage, q *observation.Write) *span.Span {
	plain := *q
	plain.TraceParent = ""
	s := writeSpan(l.id, &plain)
	s.ID = span.DeriveID(
		l.id,
		string(q.UID),
		"audit",
		q.AuditID,
		q.Start.UTC().Format(time.RFC3339Nano),
		strconv.FormatUint(q.ResourceVersion, 10),
	)
	s.Service = authorOf(q)
	s.Start.Source, s.End.Source = span.TimeAudit, span.TimeAudit
	s.Attributes = append(s.Attributes, userOf(q)...)
	if sc := parseContext(q.Server, ""); sc.IsValid() && sc.TraceID() != l.id {
		s.Links = append(
			s.Links,
			span.Link{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Attributes: linkReason(span.LinkServer)},
		)
	}
	return s
}

// unnamed reports whether the event comes from a source that lets anyone send, beside one that does
// not. It gives times only.
func unnamed(q *observation.Write) bool { return q.Unauthenticated && q.User == "" }

// userOf returns the user and the source of it as attributes.
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

// systems are the components that the users of Kubernetes' own are.
var systems = map[string]string{
	"system:kube-scheduler":                          scheduler,
	"system:kube-controller-manager":                 manager,
	"system:apiserver":                               "kube-apiserver",
	controllerAccounts + "generic-garbage-collector": collector,
}

// authorOf reduces the user and the user agent of a request to a component: a
// controller of Kubernetes has a service account of its own.
func authorOf(q *observation.Write) string {
	if c, ok := systems[q.User]; ok {
		return c
	}
	if account, ok := strings.CutPrefix(
		q.User,
		controllerAccounts,
	); ok &&
		strings.HasPrefix(q.UserAgent, manager+"/") {
		return span.Bound(canonical(account))
	}
	if strings.HasPrefix(q.User, "system:node:") && strings.HasPrefix(q.UserAgent, kubelet+"/") {
		return kubelet
	}
	return component(clientOf(q.UserAgent))
}

// author names the component that made w, also by the audit log, or is empty.
func (d *derivation) author(w *write) string {
	if q := d.audited(w); q != nil && w.req == nil && !unnamed(q.Write) {
		return authorOf(q.Write)
	}
	return w.actor()
}

// began is when the write was asked for, as well as that is known: what is told
// of it, and never what is concluded from it.
func (d *derivation) began(w *write) moment {
	q := d.audited(w)
	if q == nil || w.req != nil || w.v != nil && q.Start.After(w.v.seen) {
		return w.at // or the clocks differ
	}
	return moment{lo: q.Start, hi: q.Start, exact: span.TimeAudit}
}

// start is when r began, as it is told: not later than what it caused (rule T).
func (d *derivation) start(r *reconciliation) moment {
	if r.start != nil {
		return *r.start
	}
	m := d.began(r.first())
	r.start = &m
	for _, c := range r.children {
		if below := d.start(c); below.exact == span.TimeAudit {
			m = m.before(below.hi)
		}
	}
	return m
}

// stored is when v was, as well as that is known: at the latest when the request
// that stored it was answered.
func (d *derivation) stored(t *timeline, v *version) moment {
	if t.audits != nil {
		if q, ok := d.engine.joins(t).version[v.ResourceVersion]; ok {
			return moment{lo: q.End, hi: q.End, exact: span.TimeAudit}
		}
	}
	return arrival(v)
}

// storedIn is stored, of what the object itself says was within the second that
// starts at since: a kubelet may report it later.
func (d *derivation) storedIn(t *timeline, v *version, since time.Time) moment {
	m := d.stored(t, v)
	if m.exact != "" && (since.IsZero() || !m.hi.Before(since) && m.hi.Before(since.Add(time.Second))) {
		return m
	}
	return arrival(v).within(since)
}

// goneAt is when the object was removed.
func (d *derivation) goneAt(t *timeline) moment {
	if t.audits != nil {
		if q := d.engine.joins(t).removal; q.Write != nil {
			return moment{lo: q.End, hi: q.End, exact: span.TimeAudit}
		}
	}
	return moment{hi: t.removal.seen, live: !t.removal.listed}
}

// missed adds the writes that only the audit log tells of, as what they can be
// told from: a write to desired state counts a generation up.
func (e *Engine) missed(t *timeline, out []write, from int) []write {
	if t.audits == nil {
		return out
	}
	for _, q := range e.joins(t).missed {
		i := from
		for i < len(out) && out[i].rv < q.ResourceVersion {
			i++
		}
		w := write{t: t, rv: q.ResourceVersion, verb: updated, part: bookkeeping, manager: q.Manager, audit: &q}
		w.at = moment{lo: q.Start, hi: q.End}
		known, _ := t.position(q.ResourceVersion)
		switch {
		case q.Subresource == "status", q.Subresource == "binding":
			w.part = observed
		case known > 0 && q.Generation > t.versions[known-1].Generation && t.versions[known-1].Generation > 0:
			w.part = desired
		}
		out = append(out, write{})
		copy(out[i+1:], out[i:])
		out[i] = w
	}
	return out
}
