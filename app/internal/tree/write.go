// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// write returns a stored write without a known request, for the span of r.
func (b *Builder) write(w *change.Write, r *change.Reconciliation) span.Write {
	at := w.At.At()
	out := span.Write{
		Verb: w.Verb.String(), Actor: span.Bound(cause.Author(b.scene, w)),
		ResourceVersion: int64(w.ObjectVersion()), //nolint:gosec // etcd revisions are int64
		Start:           at.Time, End: at.Time, Source: cmp.Or(at.Source, span.TimeWatch),
	}
	if w.Reconstructed {
		out.Source = span.TimeObject
	}
	if w.Timeline != r.Timeline {
		ref := w.Timeline.Ref
		ref.Name = span.Bound(ref.Name)
		out.Of = &ref
	}
	explain(&out, w)
	return out
}

// explain adds the versions and changes of the write.
func explain(out *span.Write, w *change.Write) {
	out.Part = string(w.Part)
	if w.Version != nil {
		out.Generation = cmp.Or(out.Generation, w.Version.Generation)
	}
	if w.Before > 0 { // the differences from the last observed version are those of two writes
		out.BasedOn = cmp.Or(out.BasedOn, int64(w.Before)) //nolint:gosec // as above
		return
	}
	if w.Previous != nil {
		out.BasedOn = cmp.Or(out.BasedOn, int64(w.Previous.ObjectVersion())) //nolint:gosec // as above
	}
	out.Changes, out.MoreChanges = w.Edits().Changes()
}

// Requested returns the facts of s, the span of a request; nil if it failed.
func Requested(s *span.Span, req *observation.Write) *span.Facts {
	if req.Failed() {
		return nil
	}
	return &span.Facts{Writes: []span.Write{{
		Verb: requestedVerb(req), Subresource: span.Bound(req.Subresource),
		ResourceVersion: int64(req.ResourceVersion), //nolint:gosec // etcd revisions are int64
		BasedOn:         int64(req.Precondition),    //nolint:gosec // as above
		Generation:      req.Generation, Actor: s.Service, User: span.Bound(req.User), AuditID: span.Bound(req.AuditID),
		Start: s.Start.Time, End: s.End.Time, Source: s.End.Source,
	}}}
}

// completeWrite completes the write of s, the span of the request of w. Its verb becomes the effect,
// which each observer reports alike. q is the request in the audit log, or nil.
func completeWrite(s *span.Span, w *change.Write, q *audit.Joined) {
	if s.Facts == nil {
		return
	}
	out := &s.Facts.Writes[0]
	out.Verb = w.Verb.String()
	if i := slices.IndexFunc(s.Attributes, isVerb); i >= 0 {
		s.Attributes[i] = span.KeyVerb.String(out.Verb)
	}
	out.ResourceVersion = cmp.Or(out.ResourceVersion, int64(w.ObjectVersion())) //nolint:gosec // as above
	if q != nil {
		out.User = cmp.Or(out.User, span.Bound(q.User))
	}
	explain(out, w)
}

func isVerb(kv attribute.KeyValue) bool { return kv.Key == span.KeyVerb }
