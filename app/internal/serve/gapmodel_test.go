// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// memoryLedger is a journal in memory. Its commits are atomic, also when a process is killed.
type memoryLedger struct {
	state    map[string][]byte
	kept     map[trace.TraceID]bool
	entries  []*journal.Entry
	revision int64
	// cut makes the next commit the last one of the process: it returns no answer.
	cut error
	// lost means that the cut commit is not stored.
	lost bool
	// from is the first stored position in the audit log; nil before.
	from []byte
}

func (m *memoryLedger) Commit(_ context.Context, c *journal.Changes) error {
	if m.cut != nil && m.lost {
		return m.cut
	}
	m.revision++
	c.Revision = m.revision
	for name, value := range c.State {
		if value == nil {
			delete(m.state, name)
			continue
		}
		m.state[name] = slices.Clone(value)
	}
	if m.from == nil {
		m.from = m.state[auditState]
	}
	m.entries = append(m.entries, c.Entries...)
	for _, e := range c.Entries {
		if !e.Amends {
			m.kept[e.Trace.ID] = true
		}
	}
	return m.cut
}

func (m *memoryLedger) Kept(_ context.Context, id trace.TraceID) (kept, sent bool, err error) {
	return m.kept[id], false, nil
}

func (m *memoryLedger) State(_ context.Context, name string) ([]byte, error) {
	if data, ok := m.state[name]; ok {
		return data, nil
	}
	return nil, store.ErrNotFound
}

func (m *memoryLedger) States(_ context.Context, prefix string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, data := range m.state {
		if strings.HasPrefix(name, prefix) {
			out[name] = data
		}
	}
	return out, nil
}

func (m *memoryLedger) Renewals() int                   { return 0 }
func (m *memoryLedger) Sound(context.Context, int) bool { return true }

// modelKinds are the kinds of the model. The first one has a status, and the second is instant.
var modelKinds = []object.Kind{
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"},
}

// stored is one stored version of an object, or its removal.
type stored struct {
	at    time.Time
	kind  int
	state *observation.State // the last state for a removal
	gone  bool
	rv    uint64
}

// model is a cluster in fake time: its writes, by a person and by one controller, and its audit log.
type model struct {
	random *rand.Rand
	writes []stored
	// log are the requests of the person, in order.
	log []*observation.Write
}

var modelEpoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newModel writes a history of that many changes of a person. whole is whether the log has the level
// RequestResponse; otherwise its events have no UID and no resourceVersion.
func newModel(random *rand.Rand, changes int, whole bool) *model {
	m := &model{random: random}
	live, now, rv, made := map[string]*observation.State{}, modelEpoch, uint64(1000), 0
	var replies []stored // of the controller
	add := func(w stored) {
		rv++
		w.rv = rv
		state := *w.state
		if w.state = &state; !w.gone {
			state.ResourceVersion = rv
		}
		m.writes = append(m.writes, w)
		if w.gone {
			delete(live, state.Name)
		} else {
			live[state.Name] = &state
		}
	}
	reply := func(until time.Time) {
		for len(replies) > 0 && !replies[0].at.After(until) {
			r := replies[0]
			replies = replies[1:]
			last := live[r.state.Name]
			if last == nil || last.UID != r.state.UID || last.Generation != r.state.Generation {
				continue
			}
			s := *last
			s.ObservedGeneration, s.Progress = s.Generation, observation.ProgressCurrent
			w := *s.Workload
			w.Total, w.Updated, w.Ready, w.Available = w.Replicas, w.Replicas, w.Replicas, w.Replicas
			s.Workload = &w
			s.Managers = append(slices.Clone(s.Managers[:1]), observation.Manager{
				Name: "kube-controller-manager", Operation: "Update", Subresource: "status",
				Time: r.at.Truncate(time.Second), Fields: 9,
			})
			if len(last.Managers) > 2 {
				s.Managers = append(s.Managers, last.Managers[2:]...)
			}
			add(stored{at: r.at, kind: r.kind, state: &s})
		}
	}
	for n := range changes {
		now = now.Add(time.Duration(random.IntN(4000)+50) * time.Millisecond)
		reply(now)
		kind := random.IntN(2)
		var names []string
		for name, s := range live {
			if s.Kind == modelKinds[kind] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		q := &observation.Write{
			AuditID: fmt.Sprint("change-", n), User: "jane", UserAgent: "kubectl/v1.36", Manager: "kubectl", Code: 200,
			Resource: strings.ToLower(modelKinds[kind].Kind) + "s", Start: now.Add(-10 * time.Millisecond), End: now,
		}
		what := random.IntN(4)
		if len(names) < 2 {
			what = 0
		}
		if len(names) > 5 && what == 0 {
			what = 3
		}
		if what == 0 {
			made++
			s := &observation.State{
				Created: now.Truncate(time.Second), Generation: 1, Desired: 1, ObservedGeneration: -1,
				Managers: []observation.Manager{{
					Name: "kubectl", Operation: "Update", Time: now.Truncate(time.Second), Fields: 1,
				}},
			}
			s.Ref = object.Ref{
				Kind: modelKinds[kind], Namespace: "default", Name: fmt.Sprint("o-", made),
				UID: types.UID(fmt.Sprint("uid-", made)),
			}
			if kind == 0 {
				s.Reconciled, s.ObservedGeneration, s.Progress = true, 0, observation.ProgressInProgress
				s.Workload = &observation.Workload{Replicas: 1}
				s.Leaves = []observation.Leaf{{Path: "spec.replicas", Value: 1, Managers: 1}}
			} else {
				s.Generation = 0
				s.Leaves = []observation.Leaf{{Path: "data", Value: uint64(n), Managers: 1}}
			}
			q.Verb, q.Code = "create", 201
			add(stored{at: now, kind: kind, state: s})
		} else {
			s := *live[names[random.IntN(len(names))]]
			switch {
			case what == 3:
				q.Verb = "delete"
				add(stored{at: now, kind: kind, state: &s, gone: true})
			case kind == 0:
				q.Verb, q.Subresource = "update", "scale"
				w := *s.Workload
				w.Replicas++
				s.Workload, s.Progress = &w, observation.ProgressInProgress
				s.Generation++
				s.Desired++
				s.Managers = append(slices.Clone(s.Managers[:min(2, len(s.Managers))]), observation.Manager{
					Name: "kubectl", Operation: "Update", Subresource: "scale", Fields: 3,
				})
				s.Leaves = []observation.Leaf{{
					Path: "spec.replicas", Value: uint64(w.Replicas), Managers: 1 << (len(s.Managers) - 1),
				}}
				add(stored{at: now, kind: kind, state: &s})
			default:
				q.Verb = "patch"
				s.Desired++
				s.Managers = []observation.Manager{{
					Name: "kubectl", Operation: "Update", Time: now.Truncate(time.Second), Fields: 1,
				}}
				s.Leaves = []observation.Leaf{{Path: "data", Value: uint64(n), Managers: 1}}
				add(stored{at: now, kind: kind, state: &s})
			}
		}
		last := m.writes[len(m.writes)-1]
		q.Ref = last.state.Ref
		switch {
		case !whole:
			q.UID = ""
		case q.Verb == "delete":
			q.Removes = true
		default:
			q.ResourceVersion, q.Generation = last.rv, last.state.Generation
		}
		m.log = append(m.log, q)
		if kind == 0 && what != 3 {
			replies = append(replies, stored{
				at: now.Add(time.Duration(200+random.IntN(1500)) * time.Millisecond), kind: kind, state: last.state,
			})
			slices.SortStableFunc(replies, func(a, b stored) int { return a.at.Compare(b.at) })
		}
	}
	reply(now.Add(time.Hour))
	return m
}

// process is one life of a server: its recorder, and where its sources are.
type process struct {
	m       *model
	r       *restored
	now     time.Time
	streams []*modelStream
	// logged is the place in the audit log, and discovered the time from which it is read.
	logged     int
	discovered time.Time
	listed     time.Time
	busy       time.Time // of the last late change
}

type modelStream struct {
	kind int
	// next is the place in the history; opens is the time of the first list or watch. list are the rest of it.
	next   int
	opens  time.Time
	opened bool
	list   []*stored
	late   int // the place up to which changes are late
	held   map[types.UID]held
	pos    watch.Position
	gone   map[types.UID]object.Ref
	fresh  bool
}

type held struct {
	ref object.Ref
	rv  uint64
}

func (m *model) start(t *testing.T, l *memoryLedger, now time.Time) *process {
	t.Helper()
	p := &process{m: m, now: now, discovered: now.Add(time.Duration(m.random.IntN(800)) * time.Millisecond)}
	r, err := restore(t.Context(), l, recorderOptions{
		Engine: lifecycle.Options{Cluster: "model"}, Sampling: keepAll, Warn: quietly, Waits: p.late,
	}, forever)
	must(t, err)
	if r.discarded != nil {
		t.Fatal(r.discarded)
	}
	p.r = r
	known := map[int]map[types.UID]held{0: {}, 1: {}}
	for ref, rv := range r.engine.Objects() {
		for k := range modelKinds {
			if ref.Kind == modelKinds[k] {
				known[k][ref.UID] = held{ref, rv}
			}
		}
	}
	if place, err := l.State(t.Context(), auditState); err == nil {
		_, err = fmt.Sscan(string(place), &p.logged)
		must(t, err)
	} else {
		for p.logged < len(m.log) && !m.log[p.logged].End.After(now) {
			p.logged++
		}
		r.mark(auditState, fmt.Sprint(p.logged))
	}
	for k := range modelKinds {
		s := &modelStream{kind: k, held: known[k]}
		s.opens = p.discovered.Add(time.Duration(m.random.IntN(2500)) * time.Millisecond)
		s.pos.Resource.Group, s.pos.Resource.Version = modelKinds[k].Group, "v1"
		s.pos.Resource.Resource = strings.ToLower(modelKinds[k].Kind) + "s"
		s.fresh = true
		for _, pos := range r.positions() {
			if pos.Resource == s.pos.Resource {
				s.fresh = false
				var rv uint64
				_, err := fmt.Sscan(pos.Version, &rv)
				must(t, err)
				for s.next < len(m.writes) && m.writes[s.next].rv <= rv {
					s.next++
				}
			}
		}
		p.streams = append(p.streams, s)
	}
	return p
}

// late is recorderOptions.Waits.
func (p *process) late() bool { return p.listed.IsZero() || p.now.Sub(p.busy) < time.Second }

// step passes on what the sources have at the time now, at most one thing of each.
func (p *process) step(now time.Time) {
	p.now = now
	ready := true
	for _, s := range p.streams {
		s.step(p)
		ready = ready && s.opened && len(s.list) == 0 && s.gone == nil
	}
	if p.listed.IsZero() && ready {
		p.listed = now
	}
	for n := 0; n < 3 && now.After(p.discovered) && p.logged < len(p.m.log) && !p.m.log[p.logged].End.After(now); n++ {
		w := *p.m.log[p.logged]
		w.Unlisted = p.listed.IsZero() || w.End.Before(p.listed)
		p.r.observe(&observation.Observation{Source: observation.SourceAudit, Seen: now, Write: &w})
		p.logged++
		p.r.mark(auditState, fmt.Sprint(p.logged))
	}
}

func (s *modelStream) step(p *process) {
	switch {
	case p.now.Before(s.opens):
	case !s.opened:
		s.open(p)
	case len(s.list) > 0:
		w := s.list[0]
		s.list = s.list[1:]
		before, known := s.held[w.state.UID]
		s.held[w.state.UID] = held{w.state.Ref, w.rv}
		delete(s.gone, w.state.UID)
		if !known || before.rv != w.rv {
			p.r.observe(&observation.Observation{
				Source: observation.SourceWatch, Seen: p.now, Listed: true, Baseline: !known, State: w.state,
			})
		}
		s.endList(p)
	default:
		for n := 0; n < 3 && s.next < len(p.m.writes) && !p.m.writes[s.next].at.After(p.now); n++ {
			s.change(p)
		}
	}
}

// open opens the watch at its position, or begins the first list.
func (s *modelStream) open(p *process) {
	s.opened = true
	latest := map[types.UID]*stored{}
	n := 0
	for ; n < len(p.m.writes) && !p.m.writes[n].at.After(p.now); n++ {
		w := &p.m.writes[n]
		switch {
		case w.kind != s.kind:
		case w.gone:
			delete(latest, w.state.UID)
		default:
			latest[w.state.UID] = w
		}
	}
	s.late = n
	if !s.fresh {
		p.busy = p.now
		return
	}
	s.next = n
	s.gone = map[types.UID]object.Ref{}
	for uid, h := range s.held {
		s.gone[uid] = h.ref
	}
	for _, uid := range slices.Sorted(maps.Keys(latest)) {
		s.list = append(s.list, latest[uid])
	}
	s.endList(p)
}

// endList emits the removals that a complete list shows.
func (s *modelStream) endList(p *process) {
	if len(s.list) > 0 {
		return
	}
	rv := uint64(1000)
	if s.next > 0 {
		rv = p.m.writes[s.next-1].rv
	}
	for _, uid := range slices.Sorted(maps.Keys(s.gone)) {
		delete(s.held, uid)
		p.r.observe(&observation.Observation{
			Source: observation.SourceWatch, Seen: p.now, Listed: true,
			Gone: &observation.Gone{Ref: s.gone[uid], ResourceVersion: rv},
		})
	}
	s.gone = nil
	s.reach(p, rv)
}

func (s *modelStream) reach(p *process, rv uint64) {
	s.pos.Version = fmt.Sprint(rv)
	p.r.reach(s.pos)
}

// change emits the next change of the watch.
func (s *modelStream) change(p *process) {
	w := &p.m.writes[s.next]
	late := s.next < s.late
	s.next++
	if late {
		p.busy = p.now
	}
	if w.kind == s.kind {
		o := &observation.Observation{Source: observation.SourceWatch, Seen: p.now, Listed: late, Late: late}
		if w.gone {
			o.Gone = &observation.Gone{Ref: w.state.Ref, ResourceVersion: w.rv}
			delete(s.held, w.state.UID)
		} else {
			o.State = w.state
			if s.held[w.state.UID].rv == w.rv {
				o = nil
			}
			s.held[w.state.UID] = held{w.state.Ref, w.rv}
		}
		if o != nil {
			p.r.observe(o)
		}
	}
	s.reach(p, w.rv)
}

// live runs a process from now on, and kills it after that time: between two steps, or in a commit. It returns
// the time of its end.
func (m *model) live(t *testing.T, l *memoryLedger, now time.Time, lasts time.Duration) time.Time {
	t.Helper()
	l.cut = nil
	p := m.start(t, l, now)
	end := now.Add(lasts)
	inCommit := m.random.IntN(3)
	for look := now; now.Before(end); now = now.Add(50 * time.Millisecond) {
		p.step(now)
		if now.Sub(look) < 500*time.Millisecond {
			continue
		}
		look = now
		if end.Sub(now) < 600*time.Millisecond && inCommit > 0 {
			l.cut, l.lost = context.Canceled, inCommit == 1
		}
		if err := p.r.look(t.Context(), now); err != nil {
			break
		}
	}
	return now
}

// traced returns the traces with each audited change, by audit ID.
func traced(l *memoryLedger, open []*span.Trace) map[string]map[trace.TraceID]bool {
	out := map[string]map[trace.TraceID]bool{}
	add := func(t *span.Trace) {
		for _, s := range t.Spans {
			for _, w := range store.WritesOf(s) {
				if w.AuditID == "" {
					continue
				}
				if out[w.AuditID] == nil {
					out[w.AuditID] = map[trace.TraceID]bool{}
				}
				out[w.AuditID][t.ID] = true
			}
		}
	}
	for _, e := range l.entries {
		add(e.Trace)
	}
	for _, t := range open {
		add(t)
	}
	return out
}

// TestGapModel kills a server at random moments: between two observations of the first lists, between and in the
// commits of looks. In the end, each change of the audit log since the first start is in exactly one trace. At the
// level Metadata a request has neither a UID nor a version, and is ambiguous between several writes. Then the write
// has a trace without the request.
func TestGapModel(t *testing.T) {
	seeds, first := 1000, uint64(1)
	if testing.Short() {
		seeds = 60
	}
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprint("RequestResponse ", whole), func(t *testing.T) { gaps(t, first, seeds, whole) })
	}
}

// gaps runs TestGapModel for some seeds. whole is as in newModel.
func gaps(t *testing.T, first uint64, seeds int, whole bool) {
	t.Helper()
	missing, twice, all := 0, 0, 0
	for seed := first; seed < first+uint64(seeds); seed++ {
		m := newModel(rand.New(rand.NewPCG(seed, 7)), 40, whole)
		l := &memoryLedger{state: map[string][]byte{}, kept: map[trace.TraceID]bool{}}
		now := modelEpoch.Add(time.Duration(m.random.IntN(20_000)) * time.Millisecond)
		for range m.random.IntN(12) {
			now = m.live(t, l, now, time.Duration(m.random.IntN(6000))*time.Millisecond)
			now = now.Add(time.Duration(m.random.IntN(4000)) * time.Millisecond)
		}
		l.cut = nil
		p := m.start(t, l, now)
		end := m.writes[len(m.writes)-1].at.Add(30 * time.Second)
		for look := now; now.Before(end) || p.late(); now = now.Add(50 * time.Millisecond) {
			p.step(now)
			if now.Sub(look) >= 500*time.Millisecond {
				look = now
				must(t, p.r.look(t.Context(), now))
			}
		}
		for range 90 {
			now = now.Add(10 * time.Second)
			p.step(now)
			must(t, p.r.look(t.Context(), now))
		}
		in, from := traced(l, p.r.open), 0
		_, err := fmt.Sscan(string(l.from), &from)
		must(t, err)
		for i, q := range m.log[from:] {
			all++
			switch n := len(in[q.AuditID]); {
			case n == 0:
				if missing++; whole {
					t.Errorf("seed %d: %s (%d of %d): %s %s %s is in no trace",
						seed, q.AuditID, i, len(m.log)-from, q.Verb, q.Kind.Kind, q.Name)
				}
			case n > 1:
				twice++
				t.Errorf("seed %d: %s %s %s is in %d traces", seed, q.AuditID, q.Verb, q.Name, n)
			}
		}
		if t.Failed() && missing+twice > 20 {
			break
		}
	}
	if missing > all/20 {
		t.Errorf("%d of %d changes are not joined to a trace, want at most one in twenty", missing, all)
	}
	t.Logf("%d changes, %d in no trace, %d in several", all, missing, twice)
}
