// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// minJournal is the size of the journal above which the engine is saved instead. Twice the size
	// of the last saved engine also counts.
	minJournal = 4 << 20
	// maxChunks bounds the chunks of the journal: each costs a derivation at the next start.
	maxChunks = 600
	// checkEvery is the number of looks after which one is compared with a derivation from nothing.
	checkEvery = 1000
)

// recorder owns the engine and stores its results. Each look is one batch: all changes since the
// previous look, and the state for a recorder after a kill. It is for one goroutine.
type recorder struct {
	recorderOptions
	engine *lifecycle.Engine
	ledger *ledger
	// digestKey is the key of the observations' digests, watch.Config.Key.
	digestKey [normalize.KeySize]byte

	// seen and reached came since the last look. at has the present positions of all watches with a
	// resource.
	seen    []*observation.Observation
	reached map[string]watch.Position
	at      map[string]watch.Position
	// marks are the positions of other sources since the last look, and places all of their
	// positions.
	marks   map[string]string
	places  map[string]string
	journal journal
	// open has the fingerprints of the open traces in the store.
	open map[trace.TraceID]uint64
	// shown has the fingerprints of the open traces at the last look. An unchanged trace is the
	// same pointer at the next look.
	shown map[*span.Trace]uint64
	// orphans are open traces of the store that the engine does not have.
	orphans orphans
	// joining joins the spans of other components; nil if none are received.
	joining *joining
	// held is a look that is not stored yet.
	held *look
	// looks is the number of looks.
	looks int
	// renewals is the ledger's number of renewals when the store was last complete.
	renewals int
	// stale are names of state for the next look to remove.
	stale []string
	// save requests a saved engine in the next look.
	save bool
}

// recorderOptions configure a recorder.
type recorderOptions struct {
	Engine lifecycle.Options
	// Relations are the relations of the configuration; nil means none.
	Relations *relation.Set
	// Sampling is called at each look.
	Sampling func() sampling
	// Waits is called at each look. If true, the look takes nothing from the engine and leaves the
	// stored traces unchanged. Nil means that no look waits.
	Waits func() bool
	// Sends reports whether a finished trace is sent, now or after a takeover; nil sends all.
	Sends func(*span.Trace) bool
	// Joining joins the spans of other components; may be nil.
	Joining *joining
	// Outbox gets the finished traces; may be nil.
	Outbox outbox
	// Notices decides about notices, and Counts counts failed and stuck changes; each may be nil. Tells
	// reports whether this server delivers notices.
	Notices *notice.Board
	Tells   func() bool
	Counts  *notice.Counts
	// Opened gets the open reconciliations and traces of each look; may be nil.
	Opened func(iter.Seq2[object.Ref, trace.SpanContext], []*span.Trace)
	// Differs gets the IDs of traces that differ from a derivation from nothing; may be nil.
	Differs func([]trace.TraceID)
	// Stored is called after each stored look; may be nil.
	Stored func(*look)
	// Warn logs a problem that the recorder could work around.
	Warn func(msg string, args ...any)
}

// outbox is the part of export.Outbox that a recorder needs.
type outbox interface {
	Queue(entries ...export.Entry) map[string][]byte
	Stored(state map[string][]byte)
}

// journal is the journal's state in the store.
type journal struct {
	first, next uint64
	bytes       int
	// saved is the size of the saved engine.
	saved int
}

// look is one batch and its bookkeeping.
type look struct {
	batch *store.Batch
	// outbox is the outbox's part of the batch's state.
	outbox map[string][]byte
	// prints are the fingerprints of the open traces after it.
	prints  map[trace.TraceID]uint64
	journal journal
	// took is the duration of its preparation.
	took time.Duration
	// seen counts its observations, and first is the time of the first one.
	seen  int
	first time.Time
	// finished are the finished traces before sampling.
	finished []*span.Trace
}

func newRecorder(l *ledger, o recorderOptions) *recorder {
	return &recorder{
		recorderOptions: o,
		joining:         o.Joining,
		engine:          lifecycle.New(o.Engine),
		ledger:          l,
		digestKey:       normalize.NewKey(),
		marks:           map[string]string{},
		places:          map[string]string{},
		reached:         map[string]watch.Position{},
		at:              map[string]watch.Position{},
		open:            map[trace.TraceID]uint64{},
	}
}

// observe adds an observation. It must not be called while blocked.
func (r *recorder) observe(o *observation.Observation) {
	r.seen = append(r.seen, o)
	r.engine.Observe(o)
}

// reach adds a position of a watch.
func (r *recorder) reach(p watch.Position) {
	key := p.Key()
	r.reached[key], r.at[key] = p, p
	if p.Version == "" {
		delete(r.at, key)
	}
}

// mark adds the position of a source that keeps its own, under a name of state.
func (r *recorder) mark(name, place string) { r.marks[name], r.places[name] = place, place }

// blocked reports whether a look waits to be stored. Until then nothing may be observed, so that
// the journal has the exact input of each look.
func (r *recorder) blocked() bool { return r.held != nil }

// idle reports whether a look would change nothing. A damaged store is not idle: a look replaces
// it.
func (r *recorder) idle(ctx context.Context) bool {
	return !r.blocked() && len(r.seen) == 0 && len(r.open) == 0 && len(r.reached) == 0 && len(r.marks) == 0 &&
		r.orphans.none() &&
		!r.save &&
		(r.Notices == nil || !r.Notices.Changed()) &&
		r.joining.idle() &&
		r.ledger.sound(ctx, r.renewals)
}

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
	if r.ledger.renewals() != r.renewals {
		if err := r.refill(r.held); err != nil {
			return err
		}
	}
	if err := r.ledger.commit(ctx, r.held.batch); err != nil {
		return err
	}
	l := r.held
	r.held = nil
	r.open, r.journal = l.prints, l.journal
	r.joining.copied()
	if r.Outbox != nil {
		r.Outbox.Stored(l.outbox)
	}
	if r.Notices != nil {
		r.Notices.Stored()
	}
	if r.Stored != nil {
		r.Stored(l)
	}
	return nil
}

// prepare makes the batch of one look.
func (r *recorder) prepare(ctx context.Context, now time.Time) (*look, error) {
	l := &look{
		batch:   &store.Batch{AsOf: now, State: map[string][]byte{}},
		seen:    len(r.seen),
		prints:  map[trace.TraceID]uint64{},
		journal: r.journal,
	}
	if l.seen > 0 {
		l.first = r.seen[0].Seen
	}
	waits := r.Waits != nil && r.Waits()
	// The chunk comes first: its encoding may fail, and then nothing is lost.
	data, err := (&chunk{At: now, Waited: waits, Observations: r.seen}).encode(r.Warn)
	if err != nil {
		return nil, err
	}
	r.seen = nil
	if !waits {
		r.conclude(ctx, l, now)
	} else {
		l.prints = r.open
		if r.joining != nil { // copies that failed earlier
			maps.Copy(l.batch.State, r.joining.copyFresh(now))
		}
	}
	for _, name := range r.stale {
		l.batch.State[name] = nil
	}
	r.stale = nil
	for key, p := range r.reached {
		if p.Version == "" {
			l.batch.State[watchState+key] = nil // no position to resume from
			continue
		}
		l.batch.State[watchState+key] = []byte(p.String())
	}
	r.reached = map[string]watch.Position{}
	for name, place := range r.marks {
		l.batch.State[name] = []byte(place)
	}
	clear(r.marks)
	r.keep(l, data)
	return l, nil
}

// conclude adds the engine's results to the batch: finished, late and open traces.
func (r *recorder) conclude(ctx context.Context, l *look, now time.Time) {
	finished, late, open := r.engine.Take(now), r.engine.Amendments(), r.engine.Traces(now)
	if r.looks++; r.looks%checkEvery == 0 && r.Differs != nil {
		r.Differs(r.engine.Differences(now))
	}
	if r.Opened != nil {
		r.Opened(r.engine.Open(now), open)
	}
	finished, open = r.joining.finished(finished, now), r.joining.open(open, now)
	r.joining.amended(late)
	late = append(late, r.joining.late(now)...)
	r.tell(l, finished, open, now)
	entries := append(r.finish(l, finished, now), r.amend(ctx, l, late, now)...)
	r.unfold(l, open, now)
	if adopted := r.orphans.adopt(l, now); len(adopted) > 0 {
		entries = append(entries, r.finish(l, adopted, now)...)
	}
	l.withdraw(r.open)
	for _, id := range l.batch.Withdrawn {
		r.joining.forget(id)
	}
	if r.joining != nil {
		maps.Copy(l.batch.State, r.joining.copyAll(now))
	}
	if r.Outbox != nil && len(entries) > 0 {
		l.outbox = r.Outbox.Queue(entries...)
		for name, value := range l.outbox {
			l.batch.State[name] = value
		}
	}
}

// finish adds finished traces to the batch, if they are kept.
func (r *recorder) finish(l *look, finished []*span.Trace, now time.Time) []export.Entry {
	l.finished = finished
	var entries []export.Entry
	for _, t := range finished {
		if !r.Sampling().keeps(t, now) {
			continue
		}
		l.batch.Finished = append(l.batch.Finished, t)
		if r.Sends != nil && !r.Sends(t) {
			continue
		}
		entries = append(entries, export.Entry{TraceID: t.ID, Spans: len(t.Spans), Queued: now})
	}
	return entries
}

// amend adds the amendments of kept traces to the batch.
func (r *recorder) amend(ctx context.Context, l *look, late []*span.Trace, now time.Time) []export.Entry {
	var entries []export.Entry
	for _, t := range late {
		known, err := r.ledger.Trace(ctx, t.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // the trace was not kept
		}
		l.batch.Amendments = append(l.batch.Amendments, t)
		if err == nil && r.Sends != nil && !r.Sends(known.Trace) {
			continue // like the extended trace
		}
		e := export.Entry{TraceID: t.ID, Spans: len(t.Spans), Queued: now}
		for _, s := range t.Spans {
			e.Only = append(e.Only, s.ID)
		}
		entries = append(entries, e)
	}
	return entries
}

// unfold adds changed open traces to the batch.
func (r *recorder) unfold(l *look, open []*span.Trace, now time.Time) {
	was := r.shown
	r.shown = make(map[*span.Trace]uint64, len(open))
	for _, t := range open {
		r.orphans.known(t.ID)
		if !r.Sampling().keeps(t, now) {
			continue
		}
		looks, known := was[t]
		if !known {
			looks = fingerprint(t)
		}
		r.shown[t] = looks
		l.prints[t.ID] = looks
		if before, stored := r.open[t.ID]; !stored || before != looks {
			l.batch.Open = append(l.batch.Open, t)
		}
	}
}

// withdraw withdraws the traces that were open, and are now neither open nor finished.
func (l *look) withdraw(was map[trace.TraceID]uint64) {
	finished := map[trace.TraceID]bool{}
	for _, t := range l.batch.Finished {
		finished[t.ID] = true
	}
	for id := range was {
		if _, open := l.prints[id]; !open && !finished[id] {
			l.batch.Withdrawn = append(l.batch.Withdrawn, id)
		}
	}
}

// keep adds the state for the next start to the batch: another chunk of the journal, or the engine
// itself if the journal is long.
func (r *recorder) keep(l *look, data []byte) {
	j := &l.journal
	if r.save || j.bytes+len(data) > max(minJournal, 2*j.saved) || j.next-j.first >= maxChunks {
		err := r.saveEngine(l)
		if err == nil {
			return
		}
		r.Warn("the journal continues instead", errAttr(err))
	}
	l.batch.State[journalName(j.next)] = data
	j.next++
	j.bytes += len(data)
}

// saveEngine adds the engine to the batch, and ends the journal.
func (r *recorder) saveEngine(l *look) error {
	var out bytes.Buffer
	if err := r.engine.Save(&out); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	options, err := r.encodeOptions(l.batch.AsOf)
	if err != nil {
		return err
	}
	l.batch.State[engineState], l.batch.State[optionsState] = out.Bytes(), options
	for n := r.journal.first; n < r.journal.next; n++ {
		l.batch.State[journalName(n)] = nil
	}
	l.journal = journal{first: r.journal.next, next: r.journal.next, saved: out.Len()}
	r.save = false
	return nil
}

// refill turns a failed batch into a full snapshot, for a replaced store.
func (r *recorder) refill(l *look) error {
	r.renewals = r.ledger.renewals()
	now, was := l.batch.AsOf, r.open
	l.batch.Open = nil
	r.open = map[trace.TraceID]uint64{}
	l.prints = map[trace.TraceID]uint64{}
	r.unfold(l, r.joining.open(r.engine.Traces(now), now), now)
	for id, t := range r.orphans.traces {
		l.batch.Open = append(l.batch.Open, t)
		l.prints[id] = fingerprint(t)
	}
	// The store may be the former one, and live streams have the former traces.
	l.batch.Withdrawn = nil
	l.withdraw(was)
	for key, p := range r.at {
		l.batch.State[watchState+key] = []byte(p.String())
	}
	for name, place := range r.places {
		l.batch.State[name] = []byte(place)
	}
	if r.joining != nil {
		maps.Copy(l.batch.State, r.joining.recopy(now))
	}
	if r.Notices != nil {
		r.saveNotices(l, true)
	}
	if err := r.saveEngine(l); err != nil {
		return err
	}
	l.batch.State[journalName(r.journal.next)] = nil // this look's chunk is in the engine
	return nil
}

// storeCopies stores copies of other components' spans since the last call. After an error they are
// stored with the next look or the next call.
func (r *recorder) storeCopies(ctx context.Context, now time.Time) error {
	state := r.joining.copyFresh(now)
	if len(state) == 0 {
		return nil
	}
	if err := r.ledger.commit(ctx, &store.Batch{AsOf: now, State: state}); err != nil {
		return err
	}
	r.joining.copied()
	return nil
}
