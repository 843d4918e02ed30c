// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// why answers for an object of a trace, or for the whole change without one.
func (t *traces) why(r *request) (any, error) {
	p := r.params
	of := objectOf(p)
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := r.traceID()
	if err != nil {
		return nil, err
	}
	a, asOf, err := t.explain(r, id, of, p.now)
	if err != nil {
		return nil, err
	}
	suspect(r, &a, id)
	end(r, &a, id)
	revise(r, &a, id)
	return whyFrom(a, of, asOf, p.now), nil
}

// explain answers by a trace, in a turn. It returns the time of the answer, which is now for an open trace.
// A trace without the object is an error.
func (t *traces) explain(r *request, id trace.TraceID, of object.Ref, now time.Time) (answer.Answer, time.Time, error) {
	release, err := t.turn(r.ctx())
	if err != nil {
		return answer.Answer{}, now, err
	}
	defer release()
	e, err := r.access.Trace(r.ctx(), id)
	if err != nil {
		return answer.Answer{}, now, err
	}
	if !store.Touches(e.Trace(), of) {
		return answer.Answer{}, now, problem(http.StatusNotFound, "the trace has no %.200s", wanted(of))
	}
	if sum := e.Summary(); !sum.Open {
		now = sum.AsOf
	}
	return answer.Explain(e.Trace(), cmp.Or(of, subjectOf(e)), now.UTC()), now, nil
}

// subjectOf returns the object of an answer for a whole change: none for that of the root, or the first visible one
// below a root outside of the sender's scope.
func subjectOf(e *store.Excerpt) object.Ref {
	root := e.Trace().Root()
	if root == nil || root.Name != rights.Outside || root.Object != (object.Ref{}) {
		return object.Ref{}
	}
	return e.Summary().Object
}

// maxBefore is the number of traces that are searched for the end of a removed object.
const maxBefore = 10

// end adds how a removed object had ended, by the newest trace with it before its deletion.
func end(r *request, a *answer.Answer, deletion trace.TraceID) {
	if a.State != answer.State(span.Deleted) || a.Ended != nil || a.Object.UID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx(), suspectTime)
	defer cancel()
	page, err := r.access.List(ctx, store.Query{
		Object: object.Ref{UID: a.Object.UID}, Until: a.Start, Limit: maxBefore,
	})
	if err != nil {
		return
	}
	for _, sum := range page.Traces {
		if sum.ID == deletion || sum.Open {
			continue
		}
		e, err := r.access.Trace(ctx, sum.ID)
		if err != nil || a.EndBefore(e.Trace(), sum.AsOf) {
			return
		}
	}
}

// maxRevisions is the number of earlier traces that are searched for the first bad revision of a workload.
const maxRevisions = 20

// revise names the change that made the present revision of a workload, if its reason is older than the trace.
func revise(r *request, a *answer.Answer, id trace.TraceID) {
	of, search := a.Revised()
	if !search {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx(), suspectTime)
	defer cancel()
	page, err := r.access.List(ctx, store.Query{
		Object: object.Ref{UID: of.UID}, Until: a.Start, Limit: maxRevisions,
	})
	if err != nil || page.Incomplete != "" {
		return
	}
	for _, sum := range page.Traces {
		if sum.ID == id {
			continue
		}
		e, err := r.access.Trace(ctx, sum.ID)
		if err != nil || !a.Earlier(e.Trace(), sum.AsOf) {
			return
		}
	}
}

// wanted names a selected object in an error.
func wanted(of object.Ref) string {
	var words []string
	for _, word := range []string{
		cmp.Or(of.Kind.Kind, "object"), strings.Trim(of.Namespace+"/"+of.Name, "/"), string(of.UID),
	} {
		if word != "" {
			words = append(words, word)
		}
	}
	text := strings.Join(words, " ")
	if of.Group != "" {
		text += " of the group " + of.Group
	}
	return text
}

// suspectTime bounds the search for changes of nodes: an answer without them is complete enough.
const suspectTime = time.Second

// suspect adds the changes of nodes that explain why the scheduler rejected them. Without an answer of the
// archive in suspectTime there are none.
func suspect(r *request, a *answer.Answer, id trace.TraceID) {
	if !a.State.Bad() {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx(), suspectTime)
	defer cancel()
	var found []answer.NodeWrite
	for _, suspect := range a.Suspects() {
		page, err := r.access.Writes(ctx, store.WriteQuery{
			Object: suspect.Object(), Part: suspect.Part(), Since: suspect.Since, Until: suspect.Until,
			Limit: maxWrites,
		})
		if err != nil || page.Incomplete != "" {
			return
		}
		if w := suspect.Find(page.Writes); w != nil && w.TraceID != id {
			found = append(found, answer.NodeWrite{Suspect: suspect, Write: *w})
		}
	}
	latest := answer.Latest(found)
	if len(latest) == 0 {
		return // without IDs, List has all traces
	}
	ids := make([]trace.TraceID, len(latest))
	for i, w := range latest {
		ids[i] = w.TraceID
	}
	of, err := r.access.List(ctx, store.Query{IDs: ids})
	if err != nil {
		return
	}
	for _, w := range latest {
		if i := slices.IndexFunc(of.Traces, func(t store.Summary) bool { return t.ID == w.TraceID }); i >= 0 {
			a.Add(w, &of.Traces[i])
		}
	}
}

// maxWrites is the number of writes in the search for the change of a node or a quota that explains a rejection.
const maxWrites = 500

// whyFrom returns an answer of the time asOf, with its ages at the time now.
func whyFrom(a answer.Answer, of object.Ref, asOf, now time.Time) Why {
	return Why{Answer: a, AsOf: asOf.UTC(), Text: a.Text(now.UTC(), of.Namespace)}
}
