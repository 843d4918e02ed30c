// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"compress/gzip"
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// minInputs is the size of the stored inputs above which the engine is saved instead. If the last
	// saved engine is larger, its size counts: a replay costs ten times as much as its restoration.
	minInputs = 4 << 20
	// maxChunks bounds the chunks of the inputs: each costs a derivation at the next start.
	maxChunks = 600
	// checkEvery is the number of looks after which one is compared with a derivation from nothing.
	checkEvery = 1000
)

// recorder owns the engine and stores its results. Each look is one Commit of the journal: the traces
// that have finished since the previous look, and the state for a recorder after a kill. It is for
// one goroutine.
type recorder struct {
	recorderOptions
	engine  *lifecycle.Engine
	journal ledger
	// digestKey is the key of the observations' digests, watch.Config.Key.
	digestKey [normalize.KeySize]byte
	// values are those that masked messages must not show, watch.Config.Memory.
	values *mask.Memory
	// signals are the kinds that show their state, watch.Config.Signals.
	signals *health.Signals

	// seen and reached came since the last look. at has the present positions of all watches with a
	// resource.
	seen    []*observation.Observation
	reached map[string]watch.Position
	at      map[string]watch.Position
	// marks are the positions of other sources since the last look, and places all of their
	// positions.
	marks  map[string]string
	places map[string]string
	// inputs are the stored inputs of the engine since it was saved.
	inputs inputs
	packer *gzip.Writer
	// open are the open traces of the last look, and prints their fingerprints; nil before it.
	open   []*span.Trace
	prints map[trace.TraceID]uint64
	// shown has the fingerprints of the open traces at the last look. An unchanged trace is the
	// same pointer at the next look.
	shown map[*span.Trace]uint64
	// orphans are open traces of an earlier process that the engine does not have.
	orphans orphans
	// joining joins the spans of other components; nil if none are received.
	joining *joining
	// held is a look that is not stored yet. asOf is the time of the last stored look.
	held *look
	asOf time.Time
	// looks is the number of looks.
	looks int
	// renewals is the journal's number of renewals when it was last complete.
	renewals int
	// stale are names of state for the next look to remove.
	stale []string
	// save requests a saved engine in the next look.
	save bool
	// owes means that the last look waited: its observations are stored, and nothing was derived from them.
	owes bool
}

// ledger is the part of a journal that a recorder needs. A *journal.Journal is one.
type ledger interface {
	Commit(ctx context.Context, c *journal.Changes) error
	Kept(ctx context.Context, id trace.TraceID) (kept, sent bool, err error)
	State(ctx context.Context, name string) ([]byte, error)
	States(ctx context.Context, prefix string) (map[string][]byte, error)
	// Renewals and Sound are for a ledger that may be replaced by an empty one.
	Renewals() int
	Sound(ctx context.Context, renewals int) bool
}

// recorderOptions configure a recorder. The functions, except Warn, may be set until the first look.
type recorderOptions struct {
	Engine lifecycle.Options
	// Relations are the relations of the configuration; nil means none.
	Relations *relation.Set
	// Sampling is called at each look.
	Sampling func() sampling
	// Waits is called at each look. If true, the look takes nothing from the engine and leaves the
	// stored traces unchanged. Nil means that no look waits.
	Waits func() bool
	// Sends reports whether a finished trace is sent, now or after a takeover; nil sends none.
	Sends func(*span.Trace) bool
	// Joining joins the spans of other components; may be nil.
	Joining *joining
	// Held returns the entries of the log that are in memory, for a journal that was lost; may be nil.
	Held func() []*journal.Entry
	// Notices decides about notices, and Counts counts problems and failed changes; each may be nil. Tells
	// reports whether this server delivers notices.
	Notices *notice.Board
	Tells   func() bool
	Counts  *notice.Counts
	// Now is the time of the next look; nil means that no notice is due before a change.
	Now func() time.Time
	// Opened gets the open reconciliations and traces of each look; may be nil.
	Opened func(iter.Seq2[object.Ref, trace.SpanContext], []*span.Trace)
	// Problems gets the problems of each look; may be nil.
	Problems func(*problem.Snapshot)
	// Differs gets the IDs of traces that differ from a derivation from nothing; may be nil.
	Differs func([]trace.TraceID)
	// Stored is called after each stored look; may be nil.
	Stored func(*look)
	// Warn logs a problem that the recorder could work around.
	Warn func(msg string, args ...any)
}

func newRecorder(j ledger, o recorderOptions) *recorder {
	return &recorder{
		recorderOptions: o,
		joining:         o.Joining,
		engine:          lifecycle.New(o.Engine),
		journal:         j,
		packer:          newPacker(),
		digestKey:       normalize.NewKey(),
		values:          mask.NewMemory(),
		signals:         new(health.Signals),
		marks:           map[string]string{},
		places:          map[string]string{},
		reached:         map[string]watch.Position{},
		at:              map[string]watch.Position{},
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
// the journal has the exact inputs of each look.
func (r *recorder) blocked() bool { return r.held != nil }

// noticeDue reports whether the next look makes notices even if nothing has changed.
func (r *recorder) noticeDue() bool { return r.Now != nil && r.Notices.Due(r.Now()) }

// idle reports whether a look would change nothing. The first look is never idle: it publishes the
// open traces. Nor is a look with a damaged journal, which it replaces.
func (r *recorder) idle(ctx context.Context) bool {
	return !r.blocked() && r.prints != nil && len(r.seen) == 0 && len(r.open) == 0 && len(r.reached) == 0 &&
		len(r.marks) == 0 &&
		r.orphans.none() &&
		!r.save &&
		(r.Notices == nil || !r.Notices.Changed() && !r.noticeDue()) &&
		r.joining.idle() &&
		(!r.owes || r.waits()) &&
		r.journal.Sound(ctx, r.renewals)
}

// due reports whether time alone may change the problems now. A look that waits leaves them unchanged.
func (r *recorder) due(now time.Time) bool { return !r.waits() && r.engine.Due(now) }

// waits reports whether a look takes nothing from the engine now.
func (r *recorder) waits() bool { return r.Waits != nil && r.Waits() }
