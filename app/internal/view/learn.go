// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"iter"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Rollups implements store.Learner. Those of an open trace are of what has ended in it so far. Without the archive,
// those in memory come first, and then the error.
func (v *View) Rollups(ctx context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error] {
	return func(yield func(sample.Rollup, error) bool) {
		to := &learning[sample.Rollup]{yield: yield}
		do := func(ctx context.Context) error { return v.rollups(ctx, q, to) }
		var err error
		if q.Own {
			err = do(ctx)
		} else {
			err = v.limits.Do(ctx, do)
		}
		to.end(err)
	}
}

// Samples implements store.Learner.
func (v *View) Samples(ctx context.Context, q store.FindQuery) iter.Seq2[sample.Lifecycle, error] {
	return func(yield func(sample.Lifecycle, error) bool) {
		to := &learning[sample.Lifecycle]{yield: yield}
		to.end(v.limits.Do(ctx, func(ctx context.Context) error { return v.samples(ctx, q, to) }))
	}
}

// learning hands out the elements of a sequence.
type learning[T any] struct {
	yield func(T, error) bool
	// done: the caller wants no more.
	done bool
}

// add hands out one element. It reports whether the caller wants more.
func (l *learning[T]) add(one T) bool {
	l.done = l.done || !l.yield(one, nil)
	return !l.done
}

// end hands out the error, if there is one.
func (l *learning[T]) end(err error) {
	if err != nil && !l.done {
		var none T
		l.yield(none, err)
	}
}

// rollups hands out the rollups. What a scope permits of one depends on the whole trace, so they come from whole ones.
func (v *View) rollups(ctx context.Context, q store.RollupQuery, to *learning[sample.Rollup]) error {
	if err := q.Validate(); err != nil {
		return err
	}
	r, err := v.beginTrace(q.Scope)
	if err != nil {
		return err
	}
	if err := r.withheld(q.Where); err != nil {
		return err
	}
	q.Scope = r.scope
	of := r
	if r.all != nil {
		of = r.all
	}
	var found []sample.Rollup
	add := func(all []store.Rollup) {
		for i := range all {
			if permitted, is := all[i].In(q.Scope); is && q.Fits(&all[i], &permitted) {
				found = append(found, permitted)
			}
		}
	}
	inMemory, err := of.eachVersion(ctx, func(t *span.Trace, h *held) { add(store.RollupsOf(t, h.AsOf)) })
	if err != nil {
		return err
	}
	archive, missing := of.archive()
	if missing == nil {
		claimed, ids, err := of.claimed(ctx, archive)
		if err != nil && !away(err) {
			return err
		}
		missing = err
		for _, c := range claimed {
			add(store.RollupsOf(c.Trace, c.AsOf))
		}
		q.Scope.Except = slices.Concat(q.Scope.Except, ids, inMemory)
	}
	slices.SortFunc(found, func(a, b sample.Rollup) int { return store.CompareRollups(&a, &b) })
	hand := func(one *sample.Rollup) bool {
		one.Cluster = v.Cluster
		return to.add(*one)
	}
	if missing == nil {
		for one, err := range archive.Rollups(ctx, q) {
			if err != nil {
				missing = err
				break
			}
			for len(found) > 0 && store.CompareRollups(&found[0], &one) < 0 {
				if !hand(&found[0]) {
					return nil
				}
				found = found[1:]
			}
			if !hand(&one) {
				return nil
			}
		}
	}
	if missing != nil && !away(missing) {
		return missing
	}
	for i := range found {
		if !hand(&found[i]) {
			return nil
		}
	}
	return missing
}

// samples hands out the samples of matching lifecycles.
func (v *View) samples(ctx context.Context, q store.FindQuery, to *learning[sample.Lifecycle]) error {
	r, err := v.begin(ctx, q.Scope)
	if err != nil {
		return err
	}
	if err := r.withheld(q.Where); err != nil {
		return err
	}
	q.Scope, q.Open, q.Traces, q.Since = r.scope, false, false, q.Earliest()
	if q.Limit <= 0 || q.Limit > store.MaxSamples {
		q.Limit = store.MaxSamples
	}
	var found []store.Lifecycle
	add := func(l store.Lifecycle) { found = append(found, l) }
	ids, err := r.eachVersion(ctx, func(t *span.Trace, h *held) {
		addFitting(&q, store.LifecyclesOf(t, h.AsOf), add)
	})
	if err != nil {
		return err
	}
	archive, missing := r.archive()
	if missing == nil {
		var claimed []*store.Record
		var shared []*held
		var more []trace.TraceID
		if claimed, more, missing = r.claimed(ctx, archive); missing == nil {
			shared, missing = r.shared(ctx, archive, store.SharedQuery{Since: q.Since, Until: q.Until})
		}
		if missing != nil && !away(missing) {
			return missing
		}
		for _, of := range claimed {
			addFitting(&q, finishedLifecycles(of.Trace, of.AsOf), add)
		}
		if err := r.lifecycles(ctx, shared, &q, add); err != nil {
			return err
		}
		ids = append(ids, more...)
		for _, h := range shared {
			ids = append(ids, h.TraceID)
		}
	}
	left := q.Limit
	for i := range found {
		if one, is := store.SampleOf(&found[i]); is && left > 0 {
			if left--; !to.add(one) {
				return nil
			}
		}
	}
	if missing != nil || left == 0 {
		return missing
	}
	q.Limit = left
	q.Scope.Except = slices.Concat(q.Scope.Except, ids)
	hides := r.hidesNodes()
	for one, err := range archive.Samples(ctx, q) {
		if err != nil {
			return err
		}
		if hides {
			store.WithoutNode(&one)
		}
		if !to.add(one) {
			return nil
		}
	}
	return nil
}

// eachVersion calls f with the traces in memory, each once, and returns their IDs. An entry that has left the log
// meanwhile is in the archive.
func (r *reading) eachVersion(ctx context.Context, f func(*span.Trace, *held)) (ids []trace.TraceID, err error) {
	for _, h := range r.traces() {
		t, err := r.load(ctx, h)
		if missing(err) {
			continue
		}
		if err == nil && !h.open {
			t, err = r.version(ctx, h, t)
		}
		if err != nil {
			return nil, err
		}
		f(t, h)
		ids = append(ids, h.TraceID)
	}
	return ids, context.Cause(ctx)
}
