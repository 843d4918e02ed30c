// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"time"

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
		page, err := tracesWhere(r, find, q)
		if err != nil {
			return nil, err
		}
		r.broken.mark(r.access, page.Traces)
		return page, nil
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
	r.broken.mark(r.access, out.Traces)
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
