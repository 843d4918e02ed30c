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

func (s *Server) info(r *http.Request) (any, error) {
	if err := s.params(r).done(); err != nil {
		return nil, err
	}
	stats, err := s.opts.Store.Stats(r.Context(), s.opts.Scope(r))
	if err != nil {
		return nil, err
	}
	info := s.opts.Info()
	info.Stats = statsOf(stats)
	return info, nil
}

func (s *Server) list(r *http.Request) (any, error) {
	p := s.params(r)
	q := p.traces()
	q.Scope = s.opts.Scope(r)
	q.Limit, q.After = p.limit(), store.Cursor(p.text("after"))
	q.IDs = p.traceIDs("id")
	where := p.where()
	if where != nil && len(q.IDs) > 0 {
		p.bad("id", "it cannot be combined with %q", "where")
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	if where != nil {
		find := store.FindQuery{Scope: q.Scope, Where: where, Now: p.now, Since: q.Since, Until: q.Until, Open: q.Open}
		return s.tracesWhere(r, find, q)
	}
	page, err := s.opts.Store.List(r.Context(), q)
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

func (s *Server) density(r *http.Request) (any, error) {
	p := s.params(r)
	q := store.DensityQuery{
		Query: p.traces(), Buckets: p.number("buckets", store.MaxBuckets, 60), Where: p.where(), Now: p.now,
	}
	q.Scope = s.opts.Scope(r)
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
	d, err := s.opts.Store.Density(r.Context(), q)
	if err != nil {
		return nil, refused(err)
	}
	out := Density{Since: q.Since.UTC(), Width: Seconds(q.Width()), Incomplete: object.Bound(d.Incomplete)}
	for _, b := range d.Buckets {
		out.Buckets = append(out.Buckets, Bucket(b))
	}
	return out, nil
}

func (s *Server) trace(r *http.Request) (any, error) {
	p := s.params(r)
	format := p.oneOf("format", formats)
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := s.named(r)
	if err != nil {
		return nil, err
	}
	release, err := s.turn(r.Context())
	if err != nil {
		return nil, err
	}
	defer release()
	rec, err := s.opts.Store.Trace(r.Context(), s.opts.Scope(r), id)
	if err != nil {
		return nil, err
	}
	if format != "" && format != formatOTLP {
		return s.inFormat(r, rec, format)
	}
	return s.documentOf(rec, func() ([]byte, error) { return document(rec.Trace, &rec.Summary, s.opts.Cluster) })
}

// why answers for an object of a trace, or for the whole change without one.
func (s *Server) why(r *http.Request) (any, error) {
	p := s.params(r)
	of := p.object()
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := s.named(r)
	if err != nil {
		return nil, err
	}
	a, asOf, err := s.explain(r, id, of, p.now)
	if err != nil {
		return nil, err
	}
	s.suspect(r, &a, id)
	return whyFrom(a, of, asOf, p.now), nil
}

// explain answers by a trace, in a turn. It returns the time of the answer, which is now for an open trace.
// A trace without the object is an error.
func (s *Server) explain(r *http.Request, id trace.TraceID, of object.Ref, now time.Time) (
	answer.Answer, time.Time, error,
) {
	release, err := s.turn(r.Context())
	if err != nil {
		return answer.Answer{}, now, err
	}
	defer release()
	rec, err := s.opts.Store.Trace(r.Context(), s.opts.Scope(r), id)
	if err != nil {
		return answer.Answer{}, now, err
	}
	if !store.Touches(rec.Trace, of) {
		return answer.Answer{}, now, problem(http.StatusNotFound, "the trace has no %.200s", wanted(of))
	}
	if !rec.Open {
		now = rec.AsOf
	}
	return answer.Explain(rec.Trace, of, now.UTC()), now, nil
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
func (s *Server) suspect(r *http.Request, a *answer.Answer, id trace.TraceID) {
	if !a.State.Bad() {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), suspectTime)
	defer cancel()
	var found []answer.NodeWrite
	for _, suspect := range a.Suspects() {
		page, err := s.opts.Store.Writes(ctx, store.WriteQuery{
			Scope: s.opts.Scope(r), Object: suspect.Object(), Since: suspect.Since, Until: suspect.Until,
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
	of, err := s.opts.Store.List(ctx, store.Query{Scope: s.opts.Scope(r), IDs: ids})
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

func (s *Server) causes(r *http.Request) (any, error) {
	p := s.params(r)
	across := p.yes("across")
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := s.named(r)
	if err != nil {
		return nil, err
	}
	causes, err := s.opts.Store.Causes(r.Context(), s.opts.Scope(r), id)
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

func (s *Server) writes(r *http.Request) (any, error) {
	p := s.params(r)
	q := store.WriteQuery{
		Scope: s.opts.Scope(r),
		Since: p.moment("since"), Until: p.moment("until"), TraceID: p.traceID("traceId"), Object: p.object(),
		Actor: p.text("actor"), Part: p.oneOf("part", parts), Limit: p.limit(), After: store.Cursor(p.text("after")),
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	page, err := s.opts.Store.Writes(r.Context(), q)
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

// minPrefix is the smallest number of digits of an ID.
const minPrefix = 8

// named returns the ID of the trace in the path, which may be the beginning of an ID.
func (s *Server) named(r *http.Request) (trace.TraceID, error) {
	text := strings.ToLower(r.PathValue("traceID"))
	const digits = 2 * len(trace.TraceID{})
	bad := problem(
		http.StatusBadRequest,
		"%.80q is no trace ID: it has %d hexadecimal digits, and at least the first %d are needed",
		text,
		digits,
		minPrefix,
	)
	if len(text) < minPrefix || len(text) > digits || strings.Trim(text, "0123456789abcdef") != "" {
		return trace.TraceID{}, bad
	}
	// The zero ID is the only one that is not valid; it is below all others.
	low, _ := trace.TraceIDFromHex(text + strings.Repeat("0", digits-len(text)))
	if len(text) == digits {
		if !low.IsValid() {
			return low, bad
		}
		return low, nil
	}
	high, _ := trace.TraceIDFromHex(text + strings.Repeat("f", digits-len(text)))
	found, err := s.opts.Store.Between(r.Context(), s.opts.Scope(r), low, high, 2)
	switch {
	case err != nil:
		return low, err
	case len(found) == 0:
		return low, store.ErrNotFound
	case len(found) > 1:
		return low, problem(http.StatusConflict, "more than one trace ID begins with %s: give more digits", text)
	}
	return found[0], nil
}
