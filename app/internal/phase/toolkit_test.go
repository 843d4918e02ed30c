// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// second returns the time so many seconds after the epoch. The version n arrives in second n.
func second(n float64) time.Time { return epoch.Add(time.Duration(n * float64(time.Second))) }

// watched are the times of a cluster without an audit log.
type watched struct{}

func (watched) Start(r *change.Reconciliation) history.Moment { return r.First().At }

func (watched) Began(w *change.Write) history.Moment { return w.At }

func (watched) Stored(_ *change.Timeline, v *history.Version) history.Moment {
	return history.Arrival(v)
}

func (watched) StoredIn(_ *change.Timeline, v *history.Version, since time.Time) history.Moment {
	return history.Arrival(v).Within(since)
}

func (watched) Gone(t *change.Timeline) history.Moment {
	return history.Moment{Hi: t.Removal.Seen, Live: !t.Removal.Listed}
}

// world holds the objects of one test.
type world struct {
	*Steps
	shared *history.Shared
	// published are the publications of all Pods.
	published []Publication
	// attachments are those of all Pods.
	attachments []*change.Timeline
	// concluded counts the conclusions.
	concluded int
}

func newWorld() *world {
	w := &world{shared: history.NewShared()}
	s := New(Sources{
		Times:       watched{},
		Conclude:    func(*change.Reconciliation) { w.concluded++ },
		Published:   func(*change.Timeline) []Publication { return w.published },
		Attachments: func(*change.Timeline) []*change.Timeline { return w.attachments },
		Controller:  func(t *change.Timeline) *object.Owner { return object.ControllerOf(t.NewestOwners()) },
	})
	w.Steps = &s
	return w
}

// edit changes the state of an object for its next version.
type edit func(*observation.State)

// story is one object in the making.
type story struct {
	*change.Timeline
	world *world
	state observation.State
}

// object returns a new object.
func (w *world) object(k *kind.Kind, name string) *story {
	s := &story{Timeline: &change.Timeline{}, world: w}
	s.state.Kind, s.state.Name, s.state.Namespace, s.state.UID = k.Kind, name, "default", types.UID(name)
	s.state.Generation, s.state.ObservedGeneration, s.state.Progress = 1, -1, observation.ProgressInProgress
	if kind.Pod.Is(k.Kind) {
		s.state.Pod = &observation.Pod{
			Containers: []observation.Container{{Name: "app", Image: "registry/app:1"}}, Scheduler: "default-scheduler",
		}
	}
	s.Ref = s.state.Ref
	return s
}

// put adds the version rv: the one before with the edits.
func (s *story) put(rv uint64, edits ...edit) *story {
	if s.state.Created.IsZero() {
		s.state.Created = second(float64(rv))
	}
	if s.state.Pod != nil {
		pod := *s.state.Pod
		pod.Containers, pod.Init = slices.Clone(pod.Containers), slices.Clone(pod.Init)
		s.state.Pod = &pod
	}
	s.state.Conditions = slices.Clone(s.state.Conditions)
	s.state.ResourceVersion = rv
	for _, e := range edits {
		e(&s.state)
	}
	state := s.state
	s.State(&observation.Observation{State: &state, Seen: second(float64(rv))}, s.world.shared)
	return s
}

// event adds an Event. The path names a container of the spec; "" is the whole object.
func (s *story) event(rv float64, path, reason, note string) *story {
	if path != "" {
		path = "spec." + path
	}
	s.Event(&observation.Observation{
		Event: &observation.Event{
			ResourceVersion: uint64(rv * 10), Regarding: s.Ref, FieldPath: path, Reason: reason, Note: note,
			Type: "Normal",
		},
		Seen: second(rv),
	}, s.world.shared)
	return s
}

// gone adds the removal.
func (s *story) gone(rv uint64) *story {
	s.Gone(&observation.Observation{Gone: &observation.Gone{Ref: s.Ref, ResourceVersion: rv},
		Seen: second(float64(rv))})
	return s
}

// begin returns the reconciliation that the write rv begins.
func (s *story) begin(rv uint64) *change.Reconciliation {
	for _, w := range s.Writes(nil, nil) {
		if w.RV != rv {
			continue
		}
		r := &change.Reconciliation{
			Timeline: s.Timeline, Lineage: &change.Lineage{}, Verb: w.Verb, Took: w.Parts(), Parts: w.Parts(),
		}
		r.Wrote(&w)
		return r
	}
	panic("no such write")
}

// done ends a reconciliation in that second.
func done(r *change.Reconciliation, n float64) *change.Reconciliation {
	r.Concluded, r.Done = true, true
	r.Ended = change.Ending{At: history.Moment{Hi: second(n), Live: true}, Outcome: span.Converged}
	return r
}

// condition sets a condition from second since on.
func condition(typ, status string, since float64) edit {
	return explained(typ, status, "", "", since)
}

// explained sets a condition with a reason and a message.
func explained(typ, status, reason, message string, since float64) edit {
	return func(s *observation.State) {
		s.Conditions = slices.DeleteFunc(s.Conditions, func(c observation.Condition) bool { return c.Type == typ })
		s.Conditions = append(s.Conditions, observation.Condition{
			Type: typ, Status: status, Reason: reason, Message: message, Since: second(since),
		})
	}
}

// phased is one case of the steps of a reconciliation.
type phased struct {
	reason string
	set    func(w *world) *change.Reconciliation
	want   []string // see text
}

func testPhases(t *testing.T, cases map[string]phased) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := tc.set(w)
			if diff := cmp.Diff(tc.want, text(w.Of(r))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// text describes steps: the name, the key, the attempt, the times in seconds, and a failure or a message.
func text(steps []Step) []string {
	var out []string
	for i := range steps {
		p := &steps[i]
		line := p.name
		if p.key != "" {
			line += " " + p.key
		}
		if p.attempt > 0 {
			line += fmt.Sprint(" #", p.attempt)
		}
		line += " " + clock(p.start) + "-" + clock(p.end)
		switch {
		case p.failed:
			line += " failed: " + p.message
		case p.message != "":
			line += ": " + p.message
		}
		out = append(out, line)
	}
	return out
}

// clock describes a time by its distance from the epoch in seconds; "" if it is not known.
func clock(m history.Moment) string {
	if !m.Known() {
		return ""
	}
	return fmt.Sprint(m.At().Sub(epoch).Seconds())
}

// step returns the first step with that name.
func step(t *testing.T, steps []Step, name string) *Step {
	t.Helper()
	for i := range steps {
		if steps[i].name == name {
			return &steps[i]
		}
	}
	t.Fatalf("no step %s in %v", name, text(steps))
	return nil
}

// attribute returns the value of an attribute of a step, or "".
func (p *Step) attribute(key string) string {
	for _, kv := range p.attrs {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// eventNames returns the names of the span events of a step.
func (p *Step) eventNames() []string {
	var out []string
	for _, e := range p.events {
		out = append(out, e.Name)
	}
	return out
}
