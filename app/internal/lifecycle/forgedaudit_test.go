// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// usersOf are the users that a trace names, each with the source of the name.
func usersOf(traces []*span.Trace) []string {
	var out []string
	for _, t := range traces {
		for _, s := range t.Spans {
			user, source := "", ""
			for _, kv := range s.Attributes {
				switch kv.Key {
				case span.KeyActorUser:
					user = kv.Value.AsString()
				case span.KeyUserSource:
					source = kv.Value.AsString()
				}
			}
			if user+source != "" {
				out = append(out, user+" by "+source)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestForgedAudit: a local process posts an event with the UID and the resourceVersion of a real
// write. The true event of the write comes from a source that authenticates.
func TestForgedAudit(t *testing.T) {
	forged := func(w *observation.Write) {
		w.Unauthenticated, w.User, w.UserAgent = true, "", ""
		w.AuditID = "forged"
		w.Start = w.Start.Add(-10 * time.Millisecond)
	}
	const truth = "update Deployment web by kubectl resource_version=102 user=jane match=resource_version"
	for name, tc := range map[string]struct {
		reason string
		edits  [][]func(*observation.Write)
		want   []string
		users  []string
	}{
		"true": {
			"it names the user",
			[][]func(*observation.Write){{}},
			[]string{truth},
			[]string{"jane by audit"},
		},
		"both": {
			"the forged one came earlier, by its own account",
			[][]func(*observation.Write){{}, {forged}},
			[]string{truth},
			[]string{"jane by audit"},
		},
		"same ID": {
			"it does not contradict the true one",
			[][]func(*observation.Write){{}, {forged, func(w *observation.Write) { w.AuditID = "audit-102" }}},
			[]string{truth},
			[]string{"jane by audit"},
		},
		"same time": {
			"the true one takes its place",
			[][]func(*observation.Write){
				{},
				{
					forged,
					func(w *observation.Write) { w.AuditID, w.Start = "audit-102", w.Start.Add(10*time.Millisecond) },
				},
			},
			[]string{truth},
			[]string{"jane by audit"},
		},
		"named all the same": {
			"who authenticates comes first",
			[][]func(*observation.Write){{}, {forged, func(w *observation.Write) { w.User = "mallory" }}},
			[]string{truth},
			[]string{"jane by audit"},
		},
		"no version": {"nor by the order of writes", [][]func(*observation.Write){
			{func(w *observation.Write) { w.ResourceVersion, w.Precondition = 0, 101 }},
			{forged, func(w *observation.Write) { w.ResourceVersion = 0 }},
		}, []string{"update Deployment web by kubectl resource_version=102 user=jane match=precondition"},
			[]string{"jane by audit"}},
		"alone": {
			"it gives the time, and the managed fields the component",
			[][]func(*observation.Write){{forged}},
			[]string{"update Deployment web by kubectl resource_version=102 match=resource_version"},
			nil,
		},
		"a component": {
			"nor does it choose that",
			[][]func(*observation.Write){{forged, func(w *observation.Write) { w.Manager = "helm" }}},
			[]string{"update Deployment web by kubectl resource_version=102 match=resource_version"},
			nil,
		},
		"unauthenticated": {"without a better source, the trace marks the request as unauthenticated",
			[][]func(*observation.Write){{func(w *observation.Write) { w.Unauthenticated = true }}},
			[]string{truth}, []string{"jane by audit_unauthenticated"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reverse := range []bool{false, true} {
				s := newStory()
				s.write("web", deployment(0))
				s.write("web", scaled(2), func(st *observation.State) {
					st.Managers = append(
						st.Managers[:1:1],
						observation.Manager{Name: "kubectl", Operation: "Update", Fields: 2},
					)
				})
				if reverse {
					slices.Reverse(tc.edits)
				}
				for _, edits := range tc.edits {
					s.audited("web", "update", edits...)
				}
				for _, seen := range [][]*observation.Observation{s.seen, reversed(s.seen)} {
					traces := observe(seen).Traces(s.now().Add(time.Hour))
					if diff := cmp.Diff(tc.want, writesOf(traces)); diff != "" {
						t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
					}
					if diff := cmp.Diff(tc.users, usersOf(traces)); diff != "" {
						t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
					}
				}
			}
		})
	}
}

func reversed(seen []*observation.Observation) []*observation.Observation {
	out := slices.Clone(seen)
	slices.Reverse(out)
	return out
}
