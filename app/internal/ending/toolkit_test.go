// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// epoch is the base of all times.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns the time in that second. The version n arrives in second n.
func at(second float64) time.Time { return epoch.Add(time.Duration(second * float64(time.Second))) }

// world holds the observed objects of one test, and the Endings of their reconciliations.
type world struct {
	*Endings
	index  *index.Index
	states map[types.UID]observation.State
}

// newWorld returns an empty world in second now. Quiet is 3 s and Patience 1 min.
func newWorld(now float64) *world {
	x := index.New()
	known, clock := x.View(), NewClock(at(now))
	opts := change.Options{Patience: time.Minute}.Complete()
	return &world{
		Endings: New(known, trail.New(known), clock, NewReasons(known, clock), opts),
		index:   x, states: map[types.UID]observation.State{},
	}
}

// edit changes the state of an object for its next version.
type edit func(*observation.State)

// put adds the version rv of an object. It is the version before with the edits. The name is also the UID.
func (w *world) put(k *kind.Kind, name string, rv uint64, edits ...edit) *change.Timeline {
	uid := types.UID(name)
	s, known := w.states[uid]
	if !known {
		s = observation.State{Created: at(float64(rv)), Generation: 1, ObservedGeneration: -1}
		s.Progress = observation.ProgressInProgress
		s.Kind, s.Name, s.UID = k.Kind, name, uid
		if !k.ClusterScoped {
			s.Namespace = "default"
		}
	}
	if s.Pod != nil {
		pod := *s.Pod
		s.Pod = &pod
	}
	if s.Workload != nil {
		workload := *s.Workload
		s.Workload = &workload
	}
	s.Leaves = slices.Clone(s.Leaves)
	s.ResourceVersion = rv
	for _, e := range edits {
		e(&s)
	}
	w.states[uid] = s
	t := w.index.Timeline(s.Ref)
	w.index.Put(t, &observation.Observation{State: &s, Seen: at(float64(rv))}, false, false)
	return t
}

// gone adds the removal of an object.
func (w *world) gone(t *change.Timeline, rv uint64) {
	w.index.PutGone(t, &observation.Observation{
		Gone: &observation.Gone{Ref: t.Ref, ResourceVersion: rv}, Seen: at(float64(rv)),
	})
}

// event adds an Event about the object of t.
func (w *world) event(t *change.Timeline, rv uint64, reason, note string) {
	t.Event(&observation.Observation{
		Event: &observation.Event{ResourceVersion: rv, Regarding: t.Ref, Reason: reason, Note: note},
		Seen:  at(float64(rv)),
	}, w.index.Shared())
}

// request adds a request that took half a second before the version rv.
func request(t *change.Timeline, verb string, code int, rv uint64) {
	t.Request(&observation.Write{
		Ref: t.Ref, Verb: verb, Code: code, ResourceVersion: rv, Start: at(float64(rv) - 0.7),
		End: at(float64(rv) - 0.2),
	})
}

// begin returns the reconciliation that the write rv begins.
func begin(t *change.Timeline, rv uint64) *change.Reconciliation {
	for _, w := range t.Writes(nil, nil) {
		if w.RV != rv {
			continue
		}
		r := &change.Reconciliation{
			Timeline: t, Lineage: &change.Lineage{ID: trace.TraceID{1}}, Verb: w.Verb, Took: w.Parts(),
			Parts:    w.Parts(),
			Activity: at(float64(rv)), Progressed: at(float64(rv)),
		}
		r.Wrote(&w)
		return r
	}
	panic("no such write")
}

// below adds r to the children of up, and returns r.
func below(up, r *change.Reconciliation) *change.Reconciliation {
	r.Parent = up
	up.Children = append(up.Children, r)
	return r
}

// concluded returns a reconciliation that ended in that second. Second 0 means that it is open.
func concluded(verb history.Verb, outcome span.Outcome, second float64) *change.Reconciliation {
	r := &change.Reconciliation{Timeline: &change.Timeline{}, Verb: verb, Concluded: true}
	if second > 0 {
		r.Done = true
		r.Ended = change.Ending{At: history.Moment{Hi: at(second), Live: true}, Outcome: outcome}
	}
	return r
}

// status sets the result of the generic rules.
func status(p observation.Progress, message string) edit {
	return func(s *observation.State) { s.Progress, s.ProgressMessage = p, message }
}

// current means that the object has its desired state.
func current(s *observation.State) {
	s.Progress, s.ObservedGeneration = observation.ProgressCurrent, s.Generation
	if w := s.Workload; w != nil {
		w.Total, w.Updated, w.Ready, w.Available = w.Replicas, w.Replicas, w.Replicas, w.Replicas
	}
}

// opaque is a success without observedGeneration.
func opaque(s *observation.State) { s.Progress = observation.ProgressCurrent }

// replicas sets the number of replicas.
func replicas(n int32) edit {
	return func(s *observation.State) {
		if s.Workload == nil {
			s.Workload = &observation.Workload{}
		} else {
			s.Generation++
		}
		s.Workload.Replicas = n
		field("spec.replicas", uint64(n)+1)(s)
	}
}

// field sets a field to a value, for the first field manager. Value 0 removes it.
func field(path string, value uint64) edit {
	return func(s *observation.State) {
		s.Leaves = slices.DeleteFunc(s.Leaves, func(l observation.Leaf) bool { return l.Path == path })
		if value > 0 {
			s.Leaves = append(s.Leaves, observation.Leaf{Path: path, Value: value, Managers: 1})
		}
		slices.SortFunc(s.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
	}
}

// by makes the name the only field manager.
func by(manager string) edit {
	return func(s *observation.State) {
		s.Managers = []observation.Manager{{Name: manager, Operation: "Update", Time: at(float64(s.ResourceVersion))}}
	}
}

// condition sets a condition.
func condition(typ, status, reason, message string) edit {
	return func(s *observation.State) {
		s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c observation.Condition) bool {
			return c.Type == typ
		})
		s.Conditions = append(s.Conditions, observation.Condition{
			Type: typ, Status: status, Reason: reason, Message: message, Since: at(float64(s.ResourceVersion)),
		})
	}
}

// owned adds a controller.
func owned(k *kind.Kind, name string) edit {
	return func(s *observation.State) {
		s.Owners = []object.Owner{{Kind: k.Kind, Name: name, UID: types.UID(name), Controller: true}}
	}
}

// leaving begins a deletion with a grace period of 30 s.
func leaving(s *observation.State) {
	s.Deleting, s.GraceSeconds = at(float64(s.ResourceVersion)+30), 30
	s.Generation++
}

// pod makes the state that of a Pod with one container on a Node.
func pod(s *observation.State) {
	s.Pod = &observation.Pod{
		Node: "node-1", Containers: []observation.Container{{Name: "app", Image: "registry/app:1"}},
	}
}

// container sets the restarts and the states of the container.
func container(restarts int32, state, last *observation.ContainerState) edit {
	return func(s *observation.State) {
		c := s.Pod.Containers[0]
		c.Restarts, c.State, c.Last = restarts, state, last
		s.Pod.Containers = []observation.Container{c}
	}
}

// exited is a container that exited with code 1.
func exited(second float64) *observation.ContainerState {
	return &observation.ContainerState{Started: at(second - 1), Finished: at(second), ExitCode: 1}
}

// running is a container that started in that second.
func running(second float64) *observation.ContainerState {
	return &observation.ContainerState{Started: at(second)}
}

// backOff is a container that waits for its next start.
var backOff = &observation.ContainerState{Waiting: true, Reason: "CrashLoopBackOff"}

// ready means that the Pod is ready.
var ready = condition("Ready", "True", "", "")

// ruling is one case of a rule.
type ruling struct {
	reason string
	// now is the present second.
	now float64
	set func(w *world) *change.Reconciliation
	// want is the result, see text.
	want string
}

// testRule applies one rule to each case.
func testRule(t *testing.T, by rule, cases map[string]ruling) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.now)
			r := tc.set(w)
			if diff := cmp.Diff(tc.want, text(by(w.Endings, r))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// text describes the result of a rule, such as "Failed at 12s by watch: the message".
func text(end change.Ending, s state) string {
	switch s {
	case undecided:
		return "undecided"
	case open:
		return "open"
	}
	out := string(end.Outcome) + " " + moment(end.At)
	if end.Message != "" {
		out += ": " + end.Message
	}
	return out
}

// moment describes a time by its distance from the epoch and its source.
func moment(m history.Moment) string {
	return "at " + m.At().Sub(epoch).String() + " by " + string(m.At().Source)
}

// stateOf returns the state of a concluded reconciliation.
func stateOf(r *change.Reconciliation) state {
	if r.Done {
		return ended
	}
	return open
}
