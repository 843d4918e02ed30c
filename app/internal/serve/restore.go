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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// restored is a recorder with the state of a journal.
type restored struct {
	*recorder
	// last is the time of the last look; zero for a new journal.
	last time.Time
	// observations counts the replayed observations.
	observations int
	// discarded is the reason why the saved engine was not used; nil if it was restored, or if
	// there was none.
	discarded error
}

// restore returns a recorder that resumes after the journal's last look. It restores the saved
// engine and replays its inputs with the same looks. The engine is a pure function of both, so the
// result equals the lost engine. The results of these looks are in the log already.
//
// A time after latest comes from a wrong clock. Then the engine starts empty, too.
func restore(ctx context.Context, j ledger, o recorderOptions, latest time.Time) (*restored, error) {
	r := &restored{recorder: newRecorder(j, o)}
	err := r.replay(ctx)
	if err == nil && r.last.After(latest) {
		err = fmt.Errorf("%w: its time %s is in the future", errJournal, r.last.Format(time.RFC3339))
		r.last = time.Time{}
	}
	if errors.Is(err, lifecycle.ErrFormat) || errors.Is(err, errJournal) || errors.Is(err, errRelations) {
		r.recorder = newRecorder(j, o)
		r.discarded, r.save = err, true
		if err = errors.Join(r.numberInputs(ctx), r.dropPositions(ctx), r.findCopies(ctx)); err == nil {
			return r, r.findOpen(ctx, openState, orphansState)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.findOpen(ctx, orphansState), r.findCopies(ctx)); err != nil {
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
	saved, err := r.journal.State(ctx, engineState)
	if err == nil {
		r.engine, err = lifecycle.Restore(was, bytes.NewReader(saved))
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot restore the engine: %w", err)
	}
	chunks, err := r.journal.States(ctx, inputState)
	if err != nil {
		return err
	}
	r.inputs.saved = len(saved)
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
		if err := r.inputs.found(i, name, len(chunks[name])); err != nil {
			return err
		}
	}
	return r.changeOptions(was)
}

// found registers a chunk.
func (s *inputs) found(i int, name string, size int) error {
	n, err := inputNumber(name)
	if err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	if i == 0 {
		s.first = n
	} else if n != s.next {
		return fmt.Errorf("%w: chunk %d is missing", errJournal, s.next)
	}
	s.next = n + 1
	s.bytes += size
	return nil
}

// numberInputs finds the numbers of an unreadable journal.
func (r *restored) numberInputs(ctx context.Context) error {
	chunks, err := r.journal.States(ctx, inputState)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(chunks))
	if len(names) == 0 {
		return nil
	}
	r.inputs.first, err = inputNumber(names[0])
	last, err2 := inputNumber(names[len(names)-1])
	r.inputs.next = last + 1
	return errors.Join(err, err2)
}

// savedOptions returns the options of the saved engine. With others a replay would give other
// traces.
func (r *restored) savedOptions(ctx context.Context) (lifecycle.Options, error) {
	data, err := r.journal.State(ctx, optionsState)
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
	for _, name := range was.Signals {
		r.signals.Add(schema.ParseGroupKind(name))
	}
	if len(was.DigestKey) == len(r.digestKey) {
		r.digestKey = [normalize.KeySize]byte(was.DigestKey)
	} else {
		r.save = true
	}
	o := r.Engine
	o.Cluster, o.Settle, o.Quiet, o.Patience = was.Cluster, was.Settle, was.Quiet, was.Patience
	o.Aftermath = was.Aftermath
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

// findOpen makes the open traces in the named states orphans, except those that have finished since.
// Damage cannot be repaired, and the rest must continue.
func (r *restored) findOpen(ctx context.Context, names ...string) error {
	for _, name := range names {
		data, err := r.journal.State(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		traces, err := unpackTraces(data)
		if err != nil {
			r.Warn("some open traces of the last process cannot be read; they are lost", errAttr(err))
		}
		for _, t := range traces {
			finished, _, err := r.journal.Kept(ctx, t.ID)
			if err != nil {
				return err
			}
			if !finished {
				r.orphans.add(t)
			}
		}
	}
	return nil
}

// findCopies reads the copies of waiting spans. Without receivers it drops them.
func (r *restored) findCopies(ctx context.Context) error {
	chunks, err := r.journal.States(ctx, copiesState)
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
	states, err := r.journal.States(ctx, watchState)
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
	states, err := r.journal.States(ctx, watchState)
	r.stale = slices.Collect(maps.Keys(states))
	return err
}

// positions returns the positions of the watches.
func (r *recorder) positions() []watch.Position { return slices.Collect(maps.Values(r.at)) }
