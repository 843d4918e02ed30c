// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// auditedSpan makes the span of a write with a request in the audit log. The write is to the object
// of r, or to one above it.
func auditedSpan(w *change.Write, r *change.Reconciliation, q *audit.Joined) *span.Span {
	req := *q.Write
	req.Ref = w.Timeline.Ref
	if req.ResourceVersion == 0 { // not in the response, but known from the watch
		req.ResourceVersion = w.ObjectVersion()
	}
	s := AuditSpan(r.Lineage, &req)
	s.Parent = r.ID()
	if audit.Unnamed(q.Write) {
		s.Service = cmp.Or(w.Actor(), s.Service)
	}
	s.Attributes = append(s.Attributes, span.KeyPart.String(string(w.Part)), span.KeyAuditMatch.String(string(q.How)))
	s.Attributes = appendEdits(s.Attributes, w)
	s.Facts = Requested(s, &req)
	completeWrite(s, w, q)
	return s
}

// AuditSpan makes the span of a request in the audit log.
func AuditSpan(l *change.Lineage, q *observation.Write) *span.Span {
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
	if sc := change.ParseContext(q.Server, ""); sc.IsValid() && sc.TraceID() != l.ID {
		s.Links = append(s.Links, span.Link{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Reason: span.LinkServer})
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
