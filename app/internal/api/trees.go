// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/outline"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// maxTreeSpans bounds the spans of the remembered trees. A larger trace is arranged at each request.
const maxTreeSpans = 300_000

// arranged is the tree of one version of a trace.
type arranged struct {
	*outline.Tree
	of      *store.Excerpt
	summary *Summary
	why     *Why
	path    []insight.Segment
	asOf    time.Time
	spans   int
	// read is the time of the process just before the trace was read.
	read time.Time
}

// rememberedTree returns the remembered tree of a trace. Only a caller who may see everything gets one: the tree
// has the whole trace.
func (t *traces) rememberedTree(r *request, id trace.TraceID) (*arranged, bool) {
	if !r.access.All() {
		return nil, false
	}
	return t.trees.get(id)
}

// arrange makes the tree of the present version of a trace, and remembers it. Requests that wait for their
// turn together share one tree.
func (t *traces) arrange(r *request, id trace.TraceID) (*arranged, error) {
	asked := time.Now()
	release, err := t.turn(r.ctx())
	if err != nil {
		return nil, err
	}
	defer release()
	if found, is := t.rememberedTree(r, id); is && found.read.After(asked) {
		return found, nil
	}
	read := time.Now()
	e, err := r.access.Trace(r.ctx(), id)
	if err != nil {
		return nil, err
	}
	now := t.clock()
	asOf := now
	if sum := e.Summary(); !sum.Open {
		asOf = sum.AsOf
	}
	out := arrangedOf(e, asOf, now)
	out.read = read
	if e.Whole() {
		t.trees.put(id, out, out.spans)
	}
	return out, nil
}

// arrangedOf makes the tree of a trace. Open spans last until asOf, and the ages in sentences are those of now.
func arrangedOf(e *store.Excerpt, asOf, now time.Time) *arranged {
	t, summary := e.Trace(), SummaryOf(e.Summary())
	why := whyFrom(answer.Explain(t, subjectOf(e), asOf.UTC()), object.Ref{}, asOf, now)
	return &arranged{
		Tree: outline.New(t, asOf), of: e, summary: &summary, why: &why,
		path: insight.CriticalPath(t, asOf), asOf: asOf, spans: len(t.Spans),
	}
}
