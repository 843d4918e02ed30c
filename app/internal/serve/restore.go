// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// optionsState is the name of the options that the engine had.
const optionsState = "engine-options"

// restored is a recorder that goes on from what a store has.
type restored struct {
	*recorder
	// last is when the store was last written; zero for a new one.
	last time.Time
	// observations is how many were replayed.
	observations int
	// anew says why the engine could not be restored; nil if it was, or if
	// there was none.
	anew error
}

// restore makes a recorder that goes on from where the last batch in the ledger
// left the one before. The engine is the saved one, and is then told again what
// it was told since, with the same looks in between: it is a pure function of
// both, so it is the one that was lost. What it hands out meanwhile was stored
// with the same batches.
//
// What was stored after the time latest was stored by a clock that was wrong:
// then the engine begins anew, too.
func restore(ctx context.Context, l *ledger, o recorderOptions, latest time.Time) (*restored, error) {
	r := &restored{recorder: newRecorder(l, o)}
	err := r.replay(ctx)
	if err == nil && r.last.After(latest) {
		err = fmt.Errorf("%w: it was written at %s, which is still to come", errJournal, r.last.Format(time.RFC3339))
		r.last = time.Time{}
	}
	if errors.Is(err, lifecycle.ErrFormat) || errors.Is(err, errJournal) || errors.Is(err, errRelations) {
		r.recorder = newRecorder(l, o)
		r.anew, r.save = err, true
		if err = errors.Join(r.numberJournal(ctx), r.dropPositions(ctx), r.findCopies(ctx)); err == nil {
			return r, r.adoptOpen(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.adoptOpen(ctx), r.findCopies(ctx)); err != nil {
		return nil, err
	}
	return r, r.findPositions(ctx)
}

// errRelations is a change of the relations in the configuration. The keys of the known objects are
// those of the old ones.
var errRelations = errors.New("the relations in the configuration have changed")

// errJournal says that the journal cannot be read.
var errJournal = errors.New("the journal is damaged")

// replay restores the engine.
func (r *restored) replay(ctx context.Context) error {
	was, err := r.savedOptions(ctx)
	if err != nil {
		return err
	}
	r.engine = lifecycle.New(was)
	saved, err := r.ledger.State(ctx, engineState)
	if err == nil {
		r.engine, err = lifecycle.Restore(was, bytes.NewReader(saved))
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot restore the engine: %w", err)
	}
	chunks, err := r.ledger.States(ctx, journalState)
	if err != nil {
		return err
	}
	r.journal.saved = len(saved)
	for i, name := range slices.Sorted(maps.Keys(chunks)) {
		c, err := decodeChunk(chunks[name])
		if err != nil {
			return fmt.Errorf("%w: %w", errJournal, err)
		}
		for _, o := range c.Observations {
			r.engine.Observe(o)
		}
		if !c.Waited {
			r.engine.Take(c.At)
			r.engine.Amendments()
		}
		r.observations += len(c.Observations)
		r.last = c.At
		if err := r.journal.found(i, name, len(chunks[name])); err != nil {
			return err
		}
	}
	return r.changeOptions(was)
}

// found notes a chunk.
func (j *journal) found(i int, name string, size int) error {
	n, err := journalNumber(name)
	if err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	if i == 0 {
		j.first = n
	} else if n != j.next {
		return fmt.Errorf("%w: chunk %d is missing", errJournal, j.next)
	}
	j.next = n + 1
	j.bytes += size
	return nil
}

// numberJournal finds out which chunks there are that nobody can read.
func (r *restored) numberJournal(ctx context.Context) error {
	chunks, err := r.ledger.States(ctx, journalState)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(chunks))
	if len(names) == 0 {
		return nil
	}
	r.journal.first, err = journalNumber(names[0])
	last, err2 := journalNumber(names[len(names)-1])
	r.journal.next = last + 1
	return errors.Join(err, err2)
}

// engineOptions are lifecycle.Options as they are stored, and when.
type engineOptions struct {
	At       time.Time
	Cluster  string
	Settle   time.Duration
	Quiet    time.Duration
	Patience time.Duration
	// DigestKey is watch.Config.Key. A server of an earlier release stored none.
	DigestKey []byte
	// Relations are the declarations of the relations in the configuration.
	Relations []string `json:",omitempty"`
}

func (r *recorder) encodeOptions(at time.Time) ([]byte, error) {
	o := r.Engine
	data, err := json.Marshal(engineOptions{
		At: at, Cluster: o.Cluster, Settle: o.Settle, Quiet: o.Quiet, Patience: o.Patience,
		DigestKey: r.digestKey[:], Relations: r.declarations(),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the options of the engine: %w", err)
	}
	return data, nil
}

// declarations returns the declarations of the relations in the configuration.
func (r *recorder) declarations() []string {
	var out []string
	for _, of := range r.Relations.Stats() {
		out = append(out, of.Declaration.String())
	}
	return out
}

// savedOptions are those that the engine had which is restored: with others it
// would not hand out the same traces.
func (r *restored) savedOptions(ctx context.Context) (lifecycle.Options, error) {
	data, err := r.ledger.State(ctx, optionsState)
	if errors.Is(err, store.ErrNotFound) {
		r.save = true // the first look keeps them
		return r.Engine, nil
	}
	if err != nil {
		return lifecycle.Options{}, err
	}
	var was engineOptions
	if err := json.Unmarshal(data, &was); err != nil {
		return lifecycle.Options{}, fmt.Errorf("%w: %w", errJournal, err)
	}
	r.last = was.At
	if !slices.Equal(was.Relations, r.declarations()) {
		return lifecycle.Options{}, errRelations
	}
	if len(was.DigestKey) == len(r.digestKey) {
		r.digestKey = [normalize.KeySize]byte(was.DigestKey)
	} else {
		r.save = true
	}
	o := r.Engine
	o.Cluster, o.Settle, o.Quiet, o.Patience = was.Cluster, was.Settle, was.Quiet, was.Patience
	return o, nil
}

// changeOptions goes on with the options that are asked for now.
func (r *restored) changeOptions(was lifecycle.Options) error {
	if was == r.Engine {
		return nil
	}
	var out bytes.Buffer
	if err := r.engine.Save(&out); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	var err error
	if r.engine, err = lifecycle.Restore(r.Engine, &out); err != nil {
		return fmt.Errorf("cannot restore the engine: %w", err)
	}
	r.save = true
	return nil
}

// adoptOpen finds the traces that the store has as open. Those that the engine
// does not know wait to be adopted.
func (r *restored) adoptOpen(ctx context.Context) error {
	known := map[trace.TraceID]bool{}
	for _, t := range r.engine.Traces(r.last) {
		known[t.ID] = true
		if r.joining == nil {
			continue
		}
		stored, err := r.stored(ctx, t.ID)
		if err != nil {
			return err
		}
		if stored != nil {
			r.joining.restore(stored, r.last)
		}
	}
	q := store.Query{Open: true, Limit: store.MaxPage}
	for {
		page, err := r.ledger.List(ctx, q)
		if err != nil {
			return err
		}
		for _, sum := range page.Traces {
			r.open[sum.ID] = 0 // whatever it looks like, it is stored anew
			if known[sum.ID] {
				continue
			}
			stored, err := r.stored(ctx, sum.ID)
			if err != nil {
				return err
			}
			if stored == nil {
				continue // the first look withdraws it
			}
			if r.orphans.traces == nil {
				r.orphans.traces = map[trace.TraceID]*span.Trace{}
			}
			r.orphans.traces[sum.ID] = stored
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

// stored is a trace as the store has it; nil if it is not there, or so damaged that
// it cannot be read: nobody could mend that, and the rest must go on.
func (r *restored) stored(ctx context.Context, id trace.TraceID) (*span.Trace, error) {
	record, err := r.ledger.Trace(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case errors.Is(err, store.ErrDamaged):
		r.Warn("an open trace cannot be read any more; the server goes on without what was stored of it", errAttr(err))
		return nil, nil
	case err != nil:
		return nil, err
	}
	return record.Trace, nil
}

// findCopies reads what waited to be joined. Where nothing is received any more
// nobody waits.
func (r *restored) findCopies(ctx context.Context) error {
	chunks, err := r.ledger.States(ctx, copiesState)
	if err != nil || len(chunks) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(chunks))
	if r.joining == nil {
		r.Warn("spans of other components that waited to be joined are given up: none are received any more")
		r.stale = append(r.stale, names...)
		return nil
	}
	c := &r.joining.copies
	c.old = names
	if _, err := fmt.Sscanf(strings.TrimPrefix(names[len(names)-1], copiesState), "%d", &c.last); err != nil {
		return fmt.Errorf("cannot read the name of state %q: %w", names[len(names)-1], err)
	}
	c.found = readCopies(chunks, func(name string, err error) {
		r.Warn("spans of other components that waited to be joined cannot be read", "state", name, errAttr(err))
	})
	return nil
}

// findPositions reads how far the watches had come.
func (r *restored) findPositions(ctx context.Context) error {
	states, err := r.ledger.States(ctx, watchState)
	if err != nil {
		return err
	}
	for name, text := range states {
		p, err := watch.ParsePosition(string(text))
		if err != nil {
			r.Warn("how far a watch had come cannot be read; it begins anew", "state", name, errAttr(err))
			continue
		}
		r.at[p.Key()] = p
	}
	return nil
}

// dropPositions lets the first look remove how far the watches had come: an
// engine that knows nothing must be told everything.
func (r *restored) dropPositions(ctx context.Context) error {
	states, err := r.ledger.States(ctx, watchState)
	r.stale = slices.Collect(maps.Keys(states))
	return err
}

// positions are where the watches had come.
func (r *recorder) positions() []watch.Position { return slices.Collect(maps.Values(r.at)) }
