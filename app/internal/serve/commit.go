// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// look stores the results of the observations. After an error, the next call stores the same look.
func (r *recorder) look(ctx context.Context, now time.Time) error {
	if r.held == nil {
		began := time.Now()
		l, err := r.prepare(ctx, now)
		if err != nil {
			return err
		}
		l.took = time.Since(began)
		r.held = l
	}
	if r.journal.Renewals() != r.renewals {
		if err := r.refill(r.held); err != nil {
			return err
		}
	}
	r.held.Renewals = &r.renewals
	if err := r.journal.Commit(ctx, r.held.Changes); err != nil {
		return err
	}
	l := r.held
	r.held = nil
	r.open, r.prints, r.inputs, r.asOf = l.open, l.prints, l.inputs, l.AsOf
	r.joining.copied()
	if r.Notices != nil {
		r.Notices.Stored()
	}
	if r.Stored != nil {
		r.Stored(l)
	}
	return nil
}

// prepare makes the changes of one look.
func (r *recorder) prepare(ctx context.Context, now time.Time) (*look, error) {
	l := &look{
		Changes: &journal.Changes{AsOf: now, State: map[string][]byte{}},
		seen:    len(r.seen),
		prints:  map[trace.TraceID]uint64{},
		inputs:  r.inputs,
	}
	for i, o := range r.seen { // each watch has its own order
		if i == 0 || o.Seen.Before(l.first) {
			l.first = o.Seen
		}
	}
	waits := r.waits()
	// The chunk comes first: its encoding may fail, and then nothing is lost.
	data, err := (&chunk{At: now, Waited: waits, Observations: r.seen}).encode(r.packer, r.Warn)
	if err != nil {
		return nil, err
	}
	r.seen, r.owes = nil, waits
	switch {
	case !waits:
		r.conclude(ctx, l, now)
	case r.prints == nil: // the open traces of the last process
		r.joining.resume(now)
		r.unfold(l, r.joining.open(r.engine.Traces(now), now), now)
		r.orphans.show(l, r.prints)
	default:
		l.open, l.prints = r.open, r.prints
	}
	if waits && r.joining != nil { // copies that failed earlier
		maps.Copy(l.State, r.joining.copyFresh(now))
	}
	for _, name := range r.stale {
		l.State[name] = nil
	}
	r.stale = nil
	for key, p := range r.reached {
		if p.Version == "" {
			l.State[watchState+key] = nil // no position to resume from
			continue
		}
		l.State[watchState+key] = []byte(p.String())
	}
	r.reached = map[string]watch.Position{}
	for name, place := range r.marks {
		l.State[name] = []byte(place)
	}
	clear(r.marks)
	r.keep(l, data)
	return l, nil
}

// storeCopies stores copies of other components' spans since the last call. After an error they are
// stored with the next look or the next call.
func (r *recorder) storeCopies(ctx context.Context, now time.Time) error {
	state := r.joining.copyFresh(now)
	if len(state) == 0 {
		return nil
	}
	if err := r.journal.Commit(ctx, &journal.Changes{AsOf: now, Renewals: &r.renewals, State: state}); err != nil {
		return err
	}
	r.joining.copied()
	return nil
}
