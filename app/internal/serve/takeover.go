// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

const (
	// takenState marks a journal that has the state of the former store, or that never had one.
	takenState = "taken-over"
	// formerOutbox prefixes the names of state with spans that a former store had to send.
	formerOutbox = "outbox/"
	// keepAtOnce bounds the kept traces of one transaction.
	keepAtOnce = 10_000
)

// takeOver moves the state of a store of an earlier release into a new journal: the engine and its
// inputs, the positions of the sources, the waiting spans, the open traces, and what was to be sent.
// The last step marks it as done, so a killed process begins again. The finished traces stay in the
// file, which is the archive.
func takeOver(ctx context.Context, j *journal.Journal, path string, log *slog.Logger) error {
	_, err := j.State(ctx, takenState)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	mark := &journal.Changes{AsOf: time.Now(), State: map[string][]byte{takenState: {1}}}
	former, err := sqlite.OpenFormer(ctx, path)
	switch {
	case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrForeign):
		// The archive's writer reports it.
		log.Error("the state of the former store cannot be read: the cluster is read again", errAttr(err))
		return j.Commit(ctx, mark)
	case err != nil:
		return err
	case former == nil:
		return j.Commit(ctx, mark)
	}
	defer former.Close()
	began := time.Now()
	t := &taking{Former: former, journal: j, changes: mark}
	if err := t.all(ctx); err != nil {
		return fmt.Errorf("cannot take over the store of an earlier release: %w", err)
	}
	if t.damage != nil {
		log.Error("a part of the former store cannot be read", errAttr(t.damage))
	}
	log.Info(
		"took over the store of an earlier release",
		"store",
		path,
		"openTraces",
		t.open,
		"unreadable",
		t.unreadable,
		"toSend",
		t.entries,
		"took",
		time.Since(began).Round(time.Millisecond),
	)
	return nil
}

// taking is a take-over in progress.
type taking struct {
	*sqlite.Former
	journal *journal.Journal
	changes *journal.Changes
	// open, unreadable and entries count the open traces, those that cannot be read, and the entries
	// to send.
	open, unreadable, entries int
	// damage is the damage that was found, if any.
	damage error
}

func (t *taking) all(ctx context.Context) error {
	state, err := t.States(ctx, "")
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if !strings.HasPrefix(name, formerOutbox) {
			t.changes.State[name] = state[name]
			continue
		}
		if err := t.entry(ctx, name, state[name]); err != nil {
			return err
		}
	}
	if err := t.intact(t.keep(ctx)); err != nil {
		return err
	}
	open, skipped, err := t.OpenTraces(ctx)
	if err := t.intact(err); err != nil {
		return err
	}
	t.open, t.unreadable = len(open), skipped
	t.openTraces(open)
	return t.journal.Commit(ctx, t.changes)
}

// intact returns err, unless it is damage: the rest must continue. The archive's writer finds the
// damage, too, and sets the file aside.
func (t *taking) intact(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		t.damage = err
		return nil
	}
	return err
}

// entry appends an entry of the former outbox to the log, under its own number: a repetition
// replaces it.
func (t *taking) entry(ctx context.Context, name string, value []byte) error {
	e, err := decodeFormer(name, value)
	if err != nil {
		return nil //nolint:nilerr // an unreadable entry was dropped by the former release, too
	}
	r, err := t.Trace(ctx, e.TraceID)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		return nil
	}
	if err != nil {
		return err
	}
	one := *r.Trace
	if len(e.only) > 0 {
		one.Spans = slices.DeleteFunc(slices.Clone(one.Spans), func(s *span.Span) bool {
			return !slices.Contains(e.only, s.ID)
		})
	}
	t.entries++
	return t.journal.Commit(ctx, &journal.Changes{AsOf: e.AsOf, Entries: []*journal.Entry{{
		Item: journal.Item{Seq: e.Seq, Amends: len(e.only) > 0, For: journal.Sender}, Trace: &one,
	}}})
}

// formerEntry is an entry of the former outbox. Only has the spans to send; empty means all.
type formerEntry struct {
	journal.Item
	only []trace.SpanID
}

var errFormer = errors.New("it is no entry of an outbox")

// decodeFormer reads an entry: a version, the trace ID, the time in Unix nanoseconds, the number of
// spans, and the IDs of the spans to send.
func decodeFormer(name string, value []byte) (out formerEntry, err error) {
	if out.Seq, err = strconv.ParseUint(strings.TrimPrefix(name, formerOutbox), 10, 63); err != nil || out.Seq == 0 {
		return out, errFormer
	}
	if len(value) < 1+len(out.TraceID) || value[0] != 1 {
		return out, errFormer
	}
	value = value[1+copy(out.TraceID[:], value[1:]):]
	queued, n := binary.Varint(value)
	if n <= 0 {
		return out, errFormer
	}
	value = value[n:]
	if _, n = binary.Uvarint(value); n <= 0 || len(value[n:])%len(trace.SpanID{}) != 0 {
		return out, errFormer
	}
	for value = value[n:]; len(value) > 0; value = value[len(trace.SpanID{}):] {
		out.only = append(out.only, trace.SpanID(value))
	}
	out.AsOf = time.Unix(0, queued).UTC()
	return out, nil
}

// keep adds the finished traces to the list of kept ones.
func (t *taking) keep(ctx context.Context) error {
	ids, err := t.Finished(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, keepAtOnce) {
		if err := t.journal.Keep(ctx, some, t.changes.AsOf, true); err != nil {
			return err
		}
	}
	return nil
}

// openTraces saves the open traces, and copies of the spans that are joined to them.
func (t *taking) openTraces(open []*store.Record) {
	var traces []*span.Trace
	var joined []*span.Span
	for _, r := range open {
		traces = append(traces, r.Trace)
		joined = append(joined, separate(r.Trace)...)
	}
	t.changes.State[openState] = packTraces(traces)
	if len(joined) == 0 {
		return
	}
	last := copyName(0)
	for name := range t.changes.State {
		if strings.HasPrefix(name, copiesState) {
			last = max(last, name)
		}
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(last, copiesState), 10, 64)
	if err == nil {
		t.changes.State[copyName(n+1)] = encodeCopies(joined, nil)
	}
}
