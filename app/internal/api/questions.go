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
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func listTraces(r *request) (any, error) {
	p := r.params
	q := tracesOf(p)
	q.Limit, q.After = p.limit(), store.Cursor(p.text("after"))
	q.IDs = traceIDsOf(p, "id")
	where := whereOf(p)
	if where != nil && len(q.IDs) > 0 {
		p.bad("id", "it cannot be combined with %q", "where")
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	if where != nil {
		find := store.FindQuery{Where: where, Now: p.now, Since: q.Since, Until: q.Until, Open: q.Open}
		return tracesWhere(r, find, q)
	}
	page, err := r.access.List(r.ctx(), q)
	if err != nil {
		return nil, refused(err)
	}
	out := Page{
		Traces:     make([]Summary, len(page.Traces)),
		Next:       string(page.Next),
		Incomplete: object.Bound(page.Incomplete),
	}
	for i := range page.Traces {
		out.Traces[i] = SummaryOf(&page.Traces[i])
	}
	return out, nil
}

// defaultDensity is the time of a density without "since".
const defaultDensity = 24 * time.Hour

func countTraces(r *request) (any, error) {
	p := r.params
	q := store.DensityQuery{
		Query: tracesOf(p), Buckets: p.number("buckets", store.MaxBuckets, 60), Where: whereOf(p), Now: p.now,
	}
	if q.Until.IsZero() {
		q.Until = p.now
	}
	if q.Since.IsZero() {
		q.Since = q.Until.Add(-defaultDensity)
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, problem(http.StatusBadRequest, "%s", err)
	}
	d, err := r.access.Density(r.ctx(), q)
	if err != nil {
		return nil, refused(err)
	}
	out := Density{Since: q.Since.UTC(), Width: Seconds(q.Width()), Incomplete: object.Bound(d.Incomplete)}
	for _, b := range d.Buckets {
		out.Buckets = append(out.Buckets, Bucket(b))
	}
	return out, nil
}

// document answers with a trace.
func (t *traces) document(r *request) (any, error) {
	p := r.params
	format := p.choice("format", formats)
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := r.traceID()
	if err != nil {
		return nil, err
	}
	release, err := t.turn(r.ctx())
	if err != nil {
		return nil, err
	}
	defer release()
	e, err := r.access.Trace(r.ctx(), id)
	if err != nil {
		return nil, err
	}
	if format != "" && format != formatOTLP {
		return t.inFormat(r, e, format)
	}
	return t.documentOf(e, func() ([]byte, error) { return document(e, t.cluster) })
}

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
	return whyFrom(a, of, asOf, p.now), nil
}

// explain answers by a trace, in a turn. It returns the time of the answer, which is now for an open trace.
// A trace without the object is an error.
func (t *traces) explain(r *request, id trace.TraceID, of object.Ref, now time.Time) (
	answer.Answer, time.Time, error,
) {
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
	return answer.Explain(e.Trace(), of, now.UTC()), now, nil
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
			Object: suspect.Object(), Since: suspect.Since, Until: suspect.Until, Limit: maxWrites,
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

// maxWrites is the number of writes of one node in the search for the change that explains its rejection.
const maxWrites = 50

// whyFrom returns an answer of the time asOf, with its ages at the time now.
func whyFrom(a answer.Answer, of object.Ref, asOf, now time.Time) Why {
	return Why{Answer: a, AsOf: asOf.UTC(), Text: a.Text(now.UTC(), of.Namespace)}
}

func listCauses(r *request) (any, error) {
	p := r.params
	across := p.yes("across")
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := r.traceID()
	if err != nil {
		return nil, err
	}
	causes, err := r.access.Causes(r.ctx(), id)
	if err != nil {
		return nil, err
	}
	out := Causes{Causes: make([]Cause, 0, len(causes))}
	for _, c := range causes {
		if !across || c.TraceID != c.OfTrace {
			out.Causes = append(out.Causes, causeOf(c))
		}
	}
	return out, nil
}

func listWrites(r *request) (any, error) {
	p := r.params
	q := store.WriteQuery{
		Since: p.moment("since"), Until: p.moment("until"), TraceID: traceIDOf(p, "traceId"), Object: objectOf(p),
		Actor: p.text("actor"), Part: p.choice("part", parts), Limit: p.limit(), After: store.Cursor(p.text("after")),
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	page, err := r.access.Writes(r.ctx(), q)
	if err != nil {
		return nil, refused(err)
	}
	out := WritePage{
		Writes:     make([]Write, len(page.Writes)),
		Next:       string(page.Next),
		Incomplete: object.Bound(page.Incomplete),
	}
	for i := range page.Writes {
		out.Writes[i] = writeOf(&page.Writes[i])
	}
	return out, nil
}
