// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/outline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxTreeSpans bounds the spans of the remembered trees. A larger trace is arranged at each request.
const maxTreeSpans = 300_000

// arranged is the tree of one version of a trace.
type arranged struct {
	*outline.Tree
	of      *span.Trace
	summary *Summary
	why     *Why
	path    []insight.Segment
	asOf    time.Time
	spans   int
	// read is the time of the process just before the trace was read.
	read time.Time
}

// arrange makes the tree of the present version of a trace, and remembers it. Requests that wait for their
// turn together share one tree.
func (s *Server) arrange(r *http.Request, id trace.TraceID) (*arranged, error) {
	asked := time.Now()
	release, err := s.turn(r.Context())
	if err != nil {
		return nil, err
	}
	defer release()
	if t, found := s.trees.get(id); found && s.opts.Scope(r).All() && t.read.After(asked) {
		return t, nil
	}
	read := time.Now()
	rec, err := s.opts.Store.Trace(r.Context(), s.opts.Scope(r), id)
	if err != nil {
		return nil, err
	}
	now := s.opts.Clock()
	asOf := now
	if !rec.Open {
		asOf = rec.AsOf
	}
	out := arrangedOf(rec.Trace, &rec.Summary, asOf, now)
	out.read = read
	s.trees.put(id, out, out.spans)
	return out, nil
}

// arrangedOf makes the tree of a trace. Open spans last until asOf, and the ages in sentences are those of now.
func arrangedOf(t *span.Trace, sum *store.Summary, asOf, now time.Time) *arranged {
	summary := SummaryOf(sum)
	why := whyFrom(answer.Explain(t, object.Ref{}, asOf.UTC()), object.Ref{}, asOf, now)
	return &arranged{
		Tree: outline.New(t, asOf), of: t, summary: &summary, why: &why,
		path: insight.CriticalPath(t, asOf), asOf: asOf, spans: len(t.Spans),
	}
}
