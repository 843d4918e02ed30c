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

// optionsState is the name of the engine's options.
const optionsState = "engine-options"

// restored is a recorder with the state of a store.
type restored struct {
	*recorder
	// last is the time of the last batch; zero for a new store.
	last time.Time
	// observations counts the replayed observations.
	observations int
	// discarded is the reason why the saved engine was not used; nil if it was restored, or if
	// there was none.
	discarded error
}

// restore returns a recorder that resumes after the ledger's last batch. It restores the saved
// engine and replays the journal with the same looks. The engine is a pure function of both, so the
// result equals the lost engine. The results of these looks were stored in the same batches.
//
// A time after latest comes from a wrong clock. Then the engine starts empty, too.
func restore(ctx context.Context, l *ledger, o recorderOptions, latest time.Time) (*restored, error) {
	r := &restored{recorder: newRecorder(l, o)}
	err := r.replay(ctx)
	if err == nil && r.last.After(latest) {
		err = fmt.Errorf("%w: its time %s is in the future", errJournal, r.last.Format(time.RFC3339))
		r.last = time.Time{}
	}
	if errors.Is(err, lifecycle.ErrFormat) || errors.Is(err, errJournal) || errors.Is(err, errRelations) {
		r.recorder = newRecorder(l, o)
		r.discarded, r.save = err, true
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

// errRelations is a change of the relations in the configuration. The stored objects have the keys
// of the old relations.
var errRelations = errors.New("the relations in the configuration have changed")

// errJournal is a journal that cannot be read.
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

// found registers a chunk.
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

// numberJournal finds the numbers of an unreadable journal.
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

// engineOptions are the stored lifecycle.Options, and their time.
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

// savedOptions returns the options of the saved engine. With others a replay would give other
// traces.
func (r *restored) savedOptions(ctx context.Context) (lifecycle.Options, error) {
	data, err := r.ledger.State(ctx, optionsState)
	if errors.Is(err, store.ErrNotFound) {
		r.save = true // the first look saves them
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

// changeOptions applies the present options.
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

// adoptOpen finds the open traces of the store. Those without the engine's knowledge become
// orphans.
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
			r.open[sum.ID] = 0 // the first look stores it again
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

// stored returns a trace of the store; nil if it is missing or damaged. Damage cannot be repaired,
// and the rest must continue.
func (r *restored) stored(ctx context.Context, id trace.TraceID) (*span.Trace, error) {
	record, err := r.ledger.Trace(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case errors.Is(err, store.ErrDamaged):
		r.Warn("an open trace cannot be read; the server continues without its stored spans", errAttr(err))
		return nil, nil
	case err != nil:
		return nil, err
	}
	return record.Trace, nil
}

// findCopies reads the copies of waiting spans. Without receivers it drops them.
func (r *restored) findCopies(ctx context.Context) error {
	chunks, err := r.ledger.States(ctx, copiesState)
	if err != nil || len(chunks) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(chunks))
	if r.joining == nil {
		r.Warn("the waiting spans of other components are dropped: the receivers are off")
		r.stale = append(r.stale, names...)
		return nil
	}
	c := &r.joining.copies
	c.old = names
	if _, err := fmt.Sscanf(strings.TrimPrefix(names[len(names)-1], copiesState), "%d", &c.last); err != nil {
		return fmt.Errorf("cannot read the name of state %q: %w", names[len(names)-1], err)
	}
	c.found = readCopies(chunks, func(name string, err error) {
		r.Warn("waiting spans of other components cannot be read", "state", name, errAttr(err))
	})
	return nil
}

// findPositions reads the positions of the watches.
func (r *restored) findPositions(ctx context.Context) error {
	states, err := r.ledger.States(ctx, watchState)
	if err != nil {
		return err
	}
	for name, text := range states {
		p, err := watch.ParsePosition(string(text))
		if err != nil {
			r.Warn("the position of a watch cannot be read; it starts with a new list", "state", name, errAttr(err))
			continue
		}
		r.at[p.Key()] = p
	}
	return nil
}

// dropPositions makes the first look remove the positions of the watches: an empty engine needs
// full lists.
func (r *restored) dropPositions(ctx context.Context) error {
	states, err := r.ledger.States(ctx, watchState)
	r.stale = slices.Collect(maps.Keys(states))
	return err
}

// positions returns the positions of the watches.
func (r *recorder) positions() []watch.Position { return slices.Collect(maps.Values(r.at)) }
