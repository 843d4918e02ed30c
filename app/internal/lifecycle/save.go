// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// ErrFormat is the error of Restore for damaged or incomplete input, and for a state of another
// format version or another cluster. The error of Restore wraps it. A caller without another copy
// begins with a new Engine.
var ErrFormat = snapshot.ErrFormat

// state is the saved part of an engine: what cannot be derived. All fields below it are saved, except
// those with the tag `state:"-"`. They follow from the others, like the look-ups of the index, the
// groups and their derivations.
type state struct {
	Cluster         string
	Last, Compacted time.Time
	Objects         []*change.Timeline
	Runs            map[trace.TraceID]*observation.Run
	Refused         map[string]*observation.Write
	Nodes           map[string]*observation.Node
	Taken           map[trace.TraceID]change.Taken
	Late            []amendment
	Series          map[types.UID]*change.SeriesList
	Contests        map[types.UID]*change.Contests
	Trail           *trail.State
	Endpoints       map[observation.EndpointKey]*endpoint
	Problems        problem.Entries
	Aftermaths      map[trace.TraceID]*aftermath
	Incidents       map[types.UID]*days
	Probes          map[string]probe
	IncidentsSince  time.Time
	LastAftermath   int32
}

// format is the format of states. Several timelines and the trail may have one request of the audit log.
var format = sync.OnceValue(func() *snapshot.Format[state] {
	return snapshot.New[state](snapshot.Sharing{
		Near: []any{
			(*history.Intent)(nil), (*history.Leave)(nil), (*history.Origin)(nil), (*history.IntentExtra)(nil),
			(*history.Fields)(nil), (*history.Status)(nil), (*history.Verdict)(nil), (*history.StatusExtra)(nil),
			(*history.PodState)(nil), (*history.PodSpec)(nil), (*history.PodPhase)(nil), (*history.PodExtra)(nil),
			(*history.Notice)(nil), (*observation.Workload)(nil), []object.Owner(nil), []object.Relation(nil),
			(*observation.Manager)(nil), []*observation.Manager(nil), []string(nil),
			(*observation.Condition)(nil), []*observation.Condition(nil),
			(*observation.Container)(nil), []*observation.Container(nil), (*observation.ContainerState)(nil),
		},
		Far: []any{(*observation.Write)(nil)},
	})
})

// state returns the state of e, with its maps and its trail.
func (e *Engine) state() *state {
	return &state{
		Cluster: e.opts.Cluster, Last: e.last, Compacted: e.memory.compacted,
		Objects: neighbours(e.index.Objects()),
		Runs:    e.index.Runs(), Refused: e.index.Refused(), Nodes: e.index.Nodes(),
		Taken: e.memory.taken, Late: e.late.facts, Series: e.memory.series, Contests: e.memory.contests,
		Trail: &e.trail.State, Endpoints: e.endpoints.byKey, Problems: e.problems.tracker.Entries(),
		Aftermaths: e.after.changes, Incidents: e.after.days, Probes: e.after.probes, IncidentsSince: e.after.since,
		LastAftermath: e.after.last,
	}
}

// neighbours returns the timelines so that objects with common values are close to each other: by
// kind, namespace and name.
func neighbours(objects map[types.UID]*change.Timeline) []*change.Timeline {
	return slices.SortedFunc(maps.Values(objects), func(a, b *change.Timeline) int {
		return cmp.Or(
			cmp.Compare(a.Ref.Kind.Kind, b.Ref.Kind.Kind),
			cmp.Compare(a.Ref.Kind.Group, b.Ref.Kind.Group),
			cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
			cmp.Compare(a.Ref.Name, b.Ref.Name),
			cmp.Compare(a.Ref.UID, b.Ref.UID),
		)
	})
}

// Save writes the complete state of the engine. Restore returns an Engine that behaves exactly like
// this one. Another Save of that Engine gives the same bytes. Save streams its output, and does not
// change the engine. All errors are errors of w.
func (e *Engine) Save(w io.Writer) error {
	if err := format().Save(w, e.last, e.state()); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	return nil
}

// Restore reads the output of Save, and not one byte more of r. The options are those of New. They
// are not saved, but the cluster must be the saved one. An error wraps ErrFormat or is an error of
// r. Restore then returns a nil Engine. The use of memory is at most a multiple of the input.
func Restore(opts Options, r io.Reader) (*Engine, error) {
	e := New(opts)
	if err := e.restore(r); err != nil {
		return nil, fmt.Errorf("cannot restore the engine: %w", err)
	}
	e.complete()
	return e, nil
}

func (e *Engine) restore(r io.Reader) error {
	s := e.state()
	s.Cluster = ""
	if err := format().Restore(r, s); err != nil {
		return err
	}
	if s.Cluster != e.opts.Cluster {
		return fmt.Errorf("%w: it is of cluster %q, not %q", ErrFormat, s.Cluster, e.opts.Cluster)
	}
	if !s.Trail.Valid() {
		return fmt.Errorf("%w: a request is missing", ErrFormat)
	}
	for _, t := range s.Objects {
		if err := own(t); err != nil {
			return err
		}
		e.index.Restore(t)
	}
	e.last, e.memory.compacted, e.late.facts, e.after.since = s.Last, s.Compacted, s.Late, s.IncidentsSince
	e.after.last = s.LastAftermath
	return nil
}

// own makes the versions of a restored timeline those of its object.
func own(t *change.Timeline) error {
	for _, v := range t.Versions {
		if v.Ref != nil && v.Ref != &t.Ref {
			return fmt.Errorf("%w: two objects have one version", ErrFormat)
		}
		v.Ref = &t.Ref
	}
	if t.Folded && len(t.Versions) == 0 || t.Audits != nil && len(t.Audits.List) == 0 {
		return fmt.Errorf("%w: a value is missing", ErrFormat)
	}
	return nil
}

func compareIDs(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) }

// complete derives the look-ups and the groups of a restored engine.
func (e *Engine) complete() {
	for _, t := range e.index.Objects() {
		trail.Doubt(t)
		e.index.Complete(t)
		if len(t.Versions) > 0 {
			e.endpoints.first(t)
		}
	}
	e.regroup(func(t *change.Timeline) bool { return !t.Idle(e.opts.Rebuild) })
	e.endpoints.restorePending()
	e.hold()
	e.problems.touchAll(e.index.Objects())
	e.after.complete()
}

// regroup replaces all groups by new ones, made from the active timelines, the commands and the
// refused writes.
func (e *Engine) regroup(active func(*change.Timeline) bool) {
	e.groups.clear()
	for _, t := range e.index.Objects() {
		if active(t) {
			e.groups.again(t)
		}
	}
	for id := range e.index.Runs() {
		e.groups.changedRun(id)
	}
	for id := range e.trail.Refused() {
		e.groups.changedRefusal(id)
	}
}
