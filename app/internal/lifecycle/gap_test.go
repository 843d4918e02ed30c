// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// stamped sets the entries of managedFields: the manager of the manifest, of the status, and of a scaling,
// which has no time.
func stamped(manifest, status time.Time, scaled bool) func(*observation.State) {
	return func(st *observation.State) {
		st.Managers = []observation.Manager{
			{Name: "kubectl-create", Operation: "Update", Time: manifest.Truncate(time.Second), Fields: 1},
			{
				Name: change.Manager, Operation: "Update", Subresource: "status", Time: status.Truncate(time.Second),
				Fields: 2,
			},
		}
		if scaled {
			st.Managers = append(st.Managers, observation.Manager{
				Name: "kubectl", Operation: "Update", Subresource: "scale", Fields: 3,
			})
		}
	}
}

// byScale makes the entry of the scaling the owner of the replicas.
func byScale(n int32) func(*observation.State) {
	return func(st *observation.State) {
		scaled(n)(st)
		valued(replicas, uint64(n)+1)(st)
		for i := range st.Leaves {
			if st.Leaves[i].Path == replicas {
				st.Leaves[i].Managers = 1 << 2
			}
		}
	}
}

// afterGap returns the observations of a server that did not run while during happened. A list shows the
// newest versions alone, and a watch each version, late.
func afterGap(s *story, n int, listed bool) []*observation.Observation {
	out := append([]*observation.Observation{}, s.seen[:n]...)
	newest := map[string]int{}
	for i, o := range s.seen[n:] {
		if o.State != nil {
			newest[string(o.State.UID)] = i
		} else {
			newest[string(o.Gone.UID)] = i
		}
	}
	for i, o := range s.seen[n:] {
		found := *o
		found.Listed, found.Late, found.Seen = true, !listed, s.now()
		if o.State != nil && listed && newest[string(o.State.UID)] != i {
			continue
		}
		out = append(out, &found)
	}
	return out
}

// TestScaledInAGap: managedFields have no time for a scaling. The start is the latest possible one, and not
// that of an earlier write.
func TestScaledInAGap(t *testing.T) {
	for _, tc := range []struct {
		name   string
		reason string
		listed bool
		// start and took are the start after the real one, and the duration.
		start, took time.Duration
	}{
		{"watched late", "the new ReplicaSet's Pod bounds the start", false, 0, 4500 * time.Millisecond},
		{"listed", "the new Pod bounds the start", true, 0, 4500 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory()
			made := s.now()
			s.write("web", deployment(1), stamped(made, made, false), valued(newImage, 1), valued(replicas, 2))
			s.write("web-1", replicaSet("web", 1))
			s.write("web-1-a", pod("web-1"))
			s.write("web-1-a", bind)
			s.write("web-1-a", ready)
			s.write("web-1", arrived)
			s.wait(time.Minute) // the last status before the gap
			last := s.now()
			s.write("web", arrived, stamped(made, last, false))
			n := len(s.seen)
			s.wait(time.Minute)
			s.write("web", byScale(2), stamped(made, last, true))
			really := s.now()
			s.write("web-1", func(st *observation.State) { st.Workload.Replicas = 2; st.Generation++ })
			s.write("web-1-b", pod("web-1"))
			s.write("web-1-b", bind)
			s.wait(4 * time.Second)
			s.write("web-1-b", ready, func(st *observation.State) {
				st.Conditions[0].Since = s.now().Truncate(time.Second)
			})
			s.write("web-1", arrived)
			s.write("web", arrived, stamped(made, s.now(), true))
			s.wait(2 * time.Minute)
			seen := afterGap(s, n, tc.listed)

			var found *span.Span
			for _, one := range observe(seen).Traces(s.now().Add(time.Minute)) {
				root := one.Root()
				if root.Object.Name == "web" && root.Start.After(last.Add(time.Second)) {
					found = root
				}
			}
			if found == nil {
				t.Fatalf("%s: the scaling has no trace with a start in the gap", tc.reason)
			}
			if d := found.Start.Sub(really) - tc.start; d.Abs() > time.Second {
				t.Errorf("%s: the start is %s after the real one, want %s", tc.reason, d+tc.start, tc.start)
			}
			want := last.Add(100 * time.Millisecond).Format(time.RFC3339)
			if got := insight.Attribute(found, span.KeyEarliest); got != want {
				t.Errorf("%s: the earliest start is %q, want %s", tc.reason, got, want)
			}
			if d := found.Duration(s.now()); found.Open() || (d-tc.took).Abs() > time.Second {
				t.Errorf("%s: it took %s, want about %s", tc.reason, d, tc.took)
			}
		})
	}
}

// TestDeletedInAGap: the duration of a gap is not that of a deletion in it.
func TestDeletedInAGap(t *testing.T) {
	cases := map[string]struct {
		reason   string
		before   bool // the deletion began before the gap
		listed   bool
		earliest bool
	}{
		"begun before": {"it ended some time in the gap", true, true, false},
		"watched late": {"its request has a time", false, false, false},
		"listed":       {"nothing has a time", false, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("alone", pod(""))
			s.write("alone", bind)
			s.write("alone", ready)
			s.wait(time.Minute)
			seen := len(s.seen)
			if tc.before {
				s.write("alone", deleting)
				seen++
			}
			began := s.now()
			if !tc.before {
				s.wait(time.Minute)
				began = s.now()
				s.write("alone", deleting)
			}
			s.gone("alone")
			s.wait(4 * time.Minute)
			all := afterGap(s, seen, tc.listed)
			if tc.listed && !tc.before { // a list shows the absence alone
				all = append(all[:seen:seen], all[len(all)-1])
			}
			var found *span.Span
			for _, one := range observe(all).Traces(s.now().Add(time.Minute)) {
				for _, sp := range one.Spans {
					if sp.Outcome == span.Deleted {
						found = sp
					}
				}
			}
			if found == nil {
				t.Fatalf("%s: no deletion", tc.reason)
			}
			if d := found.Duration(s.now()); found.Open() || d > 2*time.Second {
				t.Errorf("%s: it took %s", tc.reason, d)
			}
			earliest := insight.Attribute(found, span.KeyEarliest)
			if (earliest != "") != tc.earliest {
				t.Errorf("%s: the earliest start is %q", tc.reason, earliest)
			}
			if !tc.earliest && found.Start.Sub(began).Abs() > time.Second {
				t.Errorf("%s: it began at %s, want %s", tc.reason, found.Start, began)
			}
		})
	}
}
