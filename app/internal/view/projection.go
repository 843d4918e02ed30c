// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// A reading within a limited scope has a moment of its own: the projections of the traces in memory. The archive
// answers for its traces that the scope permits as a whole, and the shared ones are projected one by one. So filters,
// orders and counts use visible data only.

const (
	// maxShared bounds the shared traces of the archive that one question reads.
	maxShared = 2000
	// lateTime is the longest time from the end of a trace to a span after it, and from a span to the start of a trace.
	lateTime = time.Hour
	// linkTime bounds the search for the traces that one trace links to.
	linkTime = time.Second
	// maxProjecting is the number of projections that are made at a time: each reads a whole trace, which may have
	// 250,000 spans.
	maxProjecting = 4
	// maxRemembered and maxRememberedSpans bound the remembered projections.
	maxRemembered, maxRememberedSpans = 50_000, 200_000
)

// begin returns a reading of the present moment within a scope.
func (v *View) begin(ctx context.Context, s store.Scope) (*reading, error) {
	r, err := v.beginTrace(s)
	if err != nil || r.all == nil {
		return r, err
	}
	of := *r.moment
	r.moment = &moment{asOf: of.asOf, open: map[trace.TraceID]*held{}}
	r.moment.index()
	for _, id := range of.ids() {
		h, err := r.ofMemory(ctx, id, of.partsOf(id))
		switch {
		case err != nil:
			return nil, err
		case h == nil:
		case h.open:
			r.open[id] = h
		default:
			r.finished[id] = h
		}
	}
	return r, nil
}

// beginTrace is begin for questions about a few traces: the moment has no projections.
func (v *View) beginTrace(s store.Scope) (*reading, error) {
	m, err := v.now()
	if err != nil {
		return nil, err
	}
	s, permitted := s.In(v.Cluster)
	if !permitted {
		s = store.Scope{Namespaces: []string{}}
	}
	r := &reading{sources: v.sources, moment: m, behind: v.behind(m), scope: s}
	if r.key = s.Key(); r.key != "" {
		r.all, r.remembered = &reading{sources: v.sources, moment: m}, &v.projections
	}
	return r, nil
}

// Project is the store.Projection of a view: links lead only to traces with a visible span.
func (v *View) Project(s store.Scope, t *span.Trace) *span.Trace {
	if s.Key() == "" { // a trace of another cluster is not here
		return t
	}
	known := map[trace.TraceID]bool{}
	ctx, cancel := context.WithTimeout(context.Background(), linkTime)
	defer cancel()
	return rights.Project(t, rights.Sees{Object: s.Permits, Trace: func(id trace.TraceID) bool {
		is, there := known[id]
		if !there {
			is = v.exists(ctx, s, id)
			known[id] = is
		}
		return is
	}})
}

// Parts are those of the summaries in lists.
func (v *View) Parts() *store.Parts { return v.projections.parts }

// exists reports whether a trace has a visible span. An error means no.
func (v *View) exists(ctx context.Context, s store.Scope, id trace.TraceID) bool {
	r, err := v.beginTrace(s)
	if err != nil {
		return false
	}
	is, err := r.exists(ctx, id)
	return is && err == nil
}

// exists reports whether a trace has a visible span. The archive is asked before the trace is read, so that the time
// does not show whether a hidden one exists.
func (r *reading) exists(ctx context.Context, id trace.TraceID) (bool, error) {
	if len(r.all.partsOf(id)) > 0 {
		h, err := r.one(ctx, id)
		return h != nil, err
	}
	there, shared, err := r.stored(ctx, id)
	if err != nil || len(shared) == 0 {
		return there, err
	}
	h, err := r.ofArchive(ctx, shared[0])
	return h != nil, err
}

// stored reports whether the archive has a trace with a permitted object. It returns the version of a shared one.
func (r *reading) stored(ctx context.Context, id trace.TraceID) (there bool, shared []store.Shared, err error) {
	archive, err := r.archive()
	if err != nil {
		return false, nil, err
	}
	found, err := archive.Between(ctx, r.scope, id, id, 1)
	if err != nil || len(found) == 0 {
		return false, nil, err
	}
	shared, err = archive.Shared(ctx, store.SharedQuery{Scope: r.scope, IDs: found, Limit: 1})
	return true, shared, err
}

// one returns the projection of one trace; nil without a visible span.
func (r *reading) one(ctx context.Context, id trace.TraceID) (*held, error) {
	parts := r.all.partsOf(id)
	if len(parts) > 0 {
		h, err := r.ofMemory(ctx, id, parts)
		if h != nil || err != nil {
			return h, err
		}
	}
	there, shared, err := r.stored(ctx, id)
	if err != nil || !there {
		return nil, err
	}
	if len(shared) > 0 && len(parts) == 0 {
		return r.ofArchive(ctx, shared[0])
	}
	h, _, err := r.project(ctx, id)
	return h, err
}

// ofArchive returns the projection of a shared trace; nil without a visible span.
func (r *reading) ofArchive(ctx context.Context, of store.Shared) (*held, error) {
	key := projectionKey{r.key, of.ID}
	if h, known := r.remembered.get(key, nil, of); known {
		return h, nil
	}
	h, complete, err := r.project(ctx, of.ID)
	if err == nil && complete {
		r.remembered.put(key, nil, of, h)
	}
	return h, err
}

// ofMemory returns the projection of a trace with parts in memory. It is nil without a visible span in them; the
// archive may have one.
func (r *reading) ofMemory(ctx context.Context, id trace.TraceID, parts []*held) (*held, error) {
	key := projectionKey{r.key, id}
	if h, known := r.remembered.get(key, parts, store.Shared{}); known {
		return h, nil
	}
	some := false
	for _, part := range parts {
		t, err := r.load(ctx, part)
		if missing(err) {
			continue // the archive has it
		}
		if err != nil {
			return nil, err
		}
		if some = r.scope.PermitsPart(t); some {
			break
		}
	}
	if !some {
		r.remembered.put(key, parts, store.Shared{}, nil)
		return nil, nil //nolint:nilnil // as a trace without a visible span
	}
	h, complete, err := r.project(ctx, id)
	if err == nil && complete {
		r.remembered.put(key, parts, store.Shared{}, h)
	}
	return h, err
}

// project reads a trace and returns its projection; nil without a visible span. It is not complete if a part cannot be
// read now.
func (r *reading) project(ctx context.Context, id trace.TraceID) (h *held, complete bool, err error) {
	select {
	case r.remembered.turns <- struct{}{}:
		defer func() { <-r.remembered.turns }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	of, err := whole{r.all}.trace(ctx, id)
	if missing(err) || away(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	links := func(trace.TraceID) bool { return true } // no entry of a list has links, and Causes looks at them
	t := rights.Project(of.Trace, rights.Sees{Object: r.scope.Permits, Trace: links})
	if t == nil {
		return nil, true, nil
	}
	sum := of.Summary
	if t != of.Trace {
		sum = r.remembered.parts.Summarize(r.key, t, &of.Summary)
	}
	return &held{
		Item: journal.Item{TraceID: id, Revision: of.Revision, AsOf: sum.AsOf, Spans: len(t.Spans)},
		open: of.Open, trace: t, summary: &sum,
	}, true, nil
}

// shared returns the projections of the archive's shared traces. The bounds of the query are those of their entries.
// At most maxShared are read; partial says so.
func (r *reading) shared(ctx context.Context, archive store.Stored, q store.SharedQuery) ([]*held, error) {
	if r.all == nil {
		return nil, nil
	}
	if !q.Since.IsZero() {
		q.Since = q.Since.Add(-lateTime)
	}
	if !q.Until.IsZero() {
		q.Until = q.Until.Add(lateTime)
	}
	q.Scope, q.Limit = r.scope, maxShared+1
	found, err := archive.Shared(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(found) > maxShared {
		found = found[:maxShared]
		r.partial = fmt.Sprintf("of the changes that you see in part, only the latest %d were read: those that ended "+
			"since %s", maxShared, found[maxShared-1].AsOf.UTC().Format(time.RFC3339))
	}
	var out []*held
	for _, of := range found {
		if r.all.live(of.ID) != nil || r.live(of.ID) != nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		h, err := r.ofArchive(ctx, of)
		if err != nil {
			return nil, err
		}
		if h != nil {
			out = append(out, h)
		}
	}
	return out, nil
}

// unarchived returns the traces whose entries of the archive do not count, as they are in memory.
func (r *reading) unarchived() []trace.TraceID {
	var out []trace.TraceID
	if r.all != nil {
		for id := range r.all.amended {
			if r.finished[id] != nil {
				out = append(out, id)
			}
		}
	}
	return out
}

// projections remembers projections. They may be of many scopes.
type projections struct {
	// turns has a token for each one that is being made.
	turns chan struct{}
	parts *store.Parts

	mu    sync.Mutex
	known map[projectionKey]projected
	spans int
}

type projectionKey struct {
	scope string
	id    trace.TraceID
}

// projected is the projection of a trace with these parts in memory, or of that version of the archive.
type projected struct {
	parts  []*held
	stored store.Shared
	held   *held
}

func (p *projections) get(key projectionKey, parts []*held, stored store.Shared) (*held, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, known := p.known[key]
	if !known || of.stored != stored || !slices.Equal(of.parts, parts) {
		return nil, false
	}
	return of.held, true
}

func (p *projections) put(key projectionKey, parts []*held, stored store.Shared, h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.known[key].held; was != nil {
		p.spans -= was.Spans
	}
	if p.known == nil || len(p.known) >= maxRemembered || p.spans >= maxRememberedSpans {
		p.known, p.spans = map[projectionKey]projected{}, 0
	}
	p.known[key] = projected{parts, stored, h}
	if h != nil {
		p.spans += h.Spans
	}
}
