// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// checkEvery is the number of lifecycles between two checks of the time.
const checkEvery = 256

// sources has the traces that are not in memory.
type sources struct {
	// read returns the trace of an entry of the log.
	read func(ctx context.Context, seq uint64) (*span.Trace, error)
	// archive returns the archive, or the error that it is unavailable with.
	archive func() (store.Stored, error)
}

// load returns the trace.
func (s *sources) load(ctx context.Context, h *held) (*span.Trace, error) {
	if h.trace != nil {
		return h.trace, nil
	}
	return s.read(ctx, h.Seq)
}

// summarize returns the summary. An error is store.ErrNotFound for an entry that has left the log
// meanwhile.
func (s *sources) summarize(ctx context.Context, h *held) (*store.Summary, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.summary != nil {
		return h.summary, nil
	}
	t, err := s.load(ctx, h)
	if err != nil {
		return nil, err
	}
	sum := store.Summarize(t, h.AsOf)
	sum.Open, sum.AsOf, sum.Revision = h.open, h.AsOf, h.Revision
	h.summary = &sum
	return h.summary, nil
}

// reading is the answer to one question: from the traces in memory at one moment, and from the archive
// afterwards.
type reading struct {
	sources
	*moment
	// behind says why the moment lacks newer traces; empty if it does not.
	behind string
	// scope is that for the archive, and key is its Key.
	scope store.Scope
	key   string
	// all is the reading of everything, for projections, and remembered has these; nil for a reading of everything.
	all        *reading
	remembered *projections
	// partial says which shared traces were not read; empty if all were.
	partial string
}

// each calls f with every trace in memory and every amendment.
func (r *reading) each(ctx context.Context, f func(*span.Trace)) error {
	return r.eachOf(ctx, r.entries(), f)
}

// eachOf is each for some of them.
func (r *reading) eachOf(ctx context.Context, among []*held, f func(*span.Trace)) error {
	for _, h := range among {
		t, err := r.load(ctx, h)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		f(t)
	}
	return nil
}

// entries returns every trace in memory and every amendment.
func (r *reading) entries() []*held {
	all := r.traces()
	for _, further := range []map[trace.TraceID][]*held{r.repeated, r.amended} {
		for _, entries := range further {
			all = append(all, entries...)
		}
	}
	return all
}

// missing reports whether an entry has left the log or cannot be read. The archive has it then, or
// it is lost.
func missing(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}

// away reports whether an error says that the archive cannot be asked now: it is being opened, or it
// was lost just now.
func away(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrDamaged)
}

// summaries calls add with the matching ones of the traces.
func (r *reading) summaries(ctx context.Context, among []*held, q *store.Query, add func(store.Summary)) error {
	for _, h := range among {
		sum, err := r.summarize(ctx, h)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		one, err := r.revised(ctx, h, *sum)
		if err != nil {
			return err
		}
		r.countAmended(&one)
		if !q.Fits(&one) {
			continue
		}
		fits, err := r.touches(ctx, h, q.Object)
		if err != nil {
			return err
		}
		if fits {
			add(one)
		}
	}
	return nil
}

// touches reports whether a trace in memory, with its amendments, has a matching object.
func (r *reading) touches(ctx context.Context, h *held, want object.Ref) (bool, error) {
	if want == (object.Ref{}) {
		return true, nil
	}
	for _, part := range append([]*held{h}, r.amended[h.TraceID]...) {
		t, err := r.load(ctx, part)
		if err != nil && !missing(err) {
			return false, err
		}
		if err == nil && store.Touches(t, want) {
			return true, nil
		}
	}
	return false, nil
}

// lifecycles calls add with the matching lifecycles of the traces.
func (r *reading) lifecycles(
	ctx context.Context, among []*held, q *store.FindQuery, add func(store.Lifecycle),
) error {
	evaluated := 0
	for _, h := range among {
		if q.Open && !h.open {
			continue
		}
		all, err := r.lifecyclesOf(ctx, h, q.Now)
		if err != nil {
			return err
		}
		if evaluated += len(all); evaluated > checkEvery {
			if evaluated = 0; ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		addFitting(q, all, add)
	}
	return context.Cause(ctx)
}

// addFitting calls add with the matching lifecycles of a trace.
func addFitting(q *store.FindQuery, all []store.Lifecycle, add func(store.Lifecycle)) {
	var latest *store.Lifecycle
	for i := range all {
		one := &all[i]
		switch {
		case !q.Fits(one):
		case !q.Traces:
			add(foundOf(q, one))
		case latest == nil || q.Compare(one, latest) < 0:
			latest = one
		}
	}
	if latest != nil {
		add(foundOf(q, latest))
	}
}

// finishedLifecycles returns the lifecycles of a finished trace.
func finishedLifecycles(t *span.Trace, asOf time.Time) []store.Lifecycle {
	all := store.LifecyclesOf(t, asOf)
	store.Finish(all)
	return all
}

// lifecyclesOf returns the lifecycles of a trace in memory at the time now. There are none if the entry
// has left the log.
func (r *reading) lifecyclesOf(ctx context.Context, h *held, now time.Time) ([]store.Lifecycle, error) {
	t, err := r.load(ctx, h)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if h.open {
		return store.LifecyclesOf(t, now), nil
	}
	whole, err := r.version(ctx, h, t)
	if err != nil {
		return nil, err
	}
	return finishedLifecycles(whole, h.AsOf), nil
}

// version returns a finished trace of the log with its further versions and claims there.
func (r *reading) version(ctx context.Context, h *held, t *span.Trace) (*span.Trace, error) {
	late, err := r.late(ctx, h.TraceID)
	if err != nil {
		return nil, err
	}
	late = slices.DeleteFunc(late, func(t *span.Trace) bool { return !claims(t) })
	further := r.repeated[h.TraceID]
	if len(further)+len(late) == 0 {
		return t, nil
	}
	one := *t
	one.Spans = slices.Clone(t.Spans)
	whole := &store.Record{Trace: &one}
	for _, h := range further {
		more, err := r.load(ctx, h)
		if err != nil && !missing(err) {
			return nil, err
		}
		if err == nil {
			join(whole, more)
		}
	}
	join(whole, late...)
	return whole.Trace, nil
}

// foundOf returns a lifecycle as a page of Find has it.
func foundOf(q *store.FindQuery, l *store.Lifecycle) store.Lifecycle {
	out := *l
	out.Rank, out.Steps = q.RankOf(l), nil
	return out
}
