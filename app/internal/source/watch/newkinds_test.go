// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func (s kindState) String() string {
	return [...]string{"unknown", "announced", "undefined", "settled", "leaving"}[s]
}

func TestNewKinds(t *testing.T) {
	things := schema.GroupResource{Group: "example.com", Resource: "things"}
	ref := object.Ref{Name: things.String()}
	offer := []resource{
		{GroupVersionResource: things.WithVersion("v1")}, {GroupVersionResource: things.WithVersion("v2")},
	}
	for name, c := range map[string]struct {
		reason string
		event  func(*newKinds) (agree bool)
		// want are the states after the event in unknown, announced, undefined, settled and leaving, and
		// agree is the result in each.
		want  [5]kindState
		agree [5]bool
		// from is the start version in those of want that are watched, if it is not the earlier one.
		from uint64
	}{
		"Defined": {
			"a new kind is watched from its definition on",
			func(n *newKinds) bool {
				n.note(&observation.Observation{State: &observation.State{Ref: ref, ResourceVersion: 9}})
				return true
			},
			[5]kindState{announced, announced, announced, settled, announced}, [5]bool{true, true, true, true, true}, 9,
		},
		"Baseline": {
			"a definition that existed at the start is no news",
			func(n *newKinds) bool {
				s := &observation.State{Ref: ref, ResourceVersion: 9}
				n.note(&observation.Observation{Baseline: true, State: s})
				return true
			},
			[5]kindState{unknownKind, announced, undefined, settled, leaving}, [5]bool{true, true, true, true, true}, 0,
		},
		"Removed": {
			"without its definition, a kind is gone",
			func(n *newKinds) bool {
				n.note(&observation.Observation{Gone: &observation.Gone{Ref: ref, ResourceVersion: 9}})
				return true
			},
			[5]kindState{leaving, leaving, leaving, leaving, leaving}, [5]bool{true, true, true, true, true}, 0,
		},
		"Offered": {
			"a kind without a definition for twice has none",
			func(n *newKinds) bool { return n.offered(offer) },
			[5]kindState{undefined, settled, settled, settled, leaving}, [5]bool{false, true, true, true, true}, 0,
		},
		"NotOffered": {
			"a definition waits for discovery",
			func(n *newKinds) bool { return n.offered(nil) },
			[5]kindState{unknownKind, announced, undefined, settled, unknownKind},
			[5]bool{true, false, true, true, true}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for from := range unknownKind + 5 {
				n := trackNewKinds()
				before := newKind{state: from}
				if from == announced || from == settled {
					before.from = 5
				}
				if from != unknownKind {
					n.kinds[things] = before
				}
				agree := c.event(n)
				got := n.kinds[things]
				if got.state != c.want[from] || agree != c.agree[from] {
					t.Errorf("%s has become %s, agreed %t; want %s, %t: %s",
						from, got.state, agree, c.want[from], c.agree[from], c.reason)
				}
				since, known := n.since(things)
				if want := got.state == announced || got.state == settled; known != want {
					t.Errorf("%s is watched: %t, want %t", got.state, known, want)
				}
				want := before.from
				if known && want == 0 {
					want = c.from
				}
				if known && since != want {
					t.Errorf("%s, now %s, is watched from %d, want %d", from, got.state, since, want)
				}
				dropped := []droppedKind(nil)
				if name == "Removed" {
					dropped = []droppedKind{{things, 9}}
				}
				if got := n.takeDropped(); !slices.Equal(got, dropped) || n.takeDropped() != nil {
					t.Errorf("%s: dropped %v, want %v, once", from, got, dropped)
				}
			}
		})
	}
}
