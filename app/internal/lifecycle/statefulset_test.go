// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestDeletionDuringAnUpdate: nobody knows the author of a deletion. The controller of a StatefulSet deletes
// a Pod for an update only if all are ready, or if their management is Parallel, and none below the partition.
func TestDeletionDuringAnUpdate(t *testing.T) {
	failed := func(st *observation.State) { st.Pod.Phase = "Failed" }
	for name, tc := range map[string]struct {
		policy, partition string
		pods              []func(*observation.State)
		want              bool
	}{
		"AllReady":      {"OrderedReady", "", []func(*observation.State){ready, ready}, true},
		"NotReady":      {"OrderedReady", "", []func(*observation.State){unpulled, ready}, false},
		"OtherNotReady": {"OrderedReady", "", []func(*observation.State){ready, unpulled}, true},
		"Ended":         {"OrderedReady", "", []func(*observation.State){failed, ready}, true},
		"Parallel":      {"Parallel", "", []func(*observation.State){unpulled, ready}, true},
		"Unknown":       {"", "", []func(*observation.State){unpulled, ready}, true},
		"Partition":     {"OrderedReady", "1", []func(*observation.State){ready, ready}, false},
		"NoPartition":   {"OrderedReady", "0", []func(*observation.State){ready, ready}, true},
		"EndedBelow":    {"OrderedReady", "1", []func(*observation.State){failed, ready}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("db", deployment(2), ofKind("apps", "StatefulSet"), func(st *observation.State) {
				if tc.policy != "" {
					st.Leaves = []observation.Leaf{{Path: "spec.podManagementPolicy", Value: 1, Shown: tc.policy}}
				}
				if tc.partition != "" {
					st.Leaves = append(st.Leaves, observation.Leaf{
						Path: "spec.updateStrategy.rollingUpdate.partition", Value: 1, Shown: tc.partition,
					})
				}
			})
			for i, state := range tc.pods {
				s.write([]string{"db-0", "db-1"}[i], pod("db"), func(st *observation.State) {
					st.Owners[0].Kind = object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
				}, bind, state)
			}
			s.write("db", arrived)
			s.wait(time.Minute)
			s.write("db", changed, func(st *observation.State) {
				st.Leaves = append(slices.Clone(st.Leaves), observation.Leaf{Path: "spec.template", Value: 1})
				slices.SortFunc(st.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
			})
			s.write("db-0", deleting)
			s.gone("db-0")
			out := s.outline(t)
			_, update, _ := strings.Cut(out, "\ntrace 1 ")
			update, _, _ = strings.Cut(update, "\ntrace ")
			if got := strings.Contains(update, "Pod db-0"); got != tc.want {
				t.Errorf("the deletion is part of the update: got %v, want %v\n%s", got, tc.want, out)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// inSet is a Pod of the StatefulSet db.
func inSet(st *observation.State) {
	pod("db")(st)
	st.Owners[0].Kind = kind.StatefulSet.Kind
}

// TestHealedWhileStarting: a person deletes a Pod while its StatefulSet starts. The replacement heals that Pod.
func TestHealedWhileStarting(t *testing.T) {
	s := newStory()
	s.write("db", deployment(2), ofKind("apps", "StatefulSet"))
	s.write("db-0", inSet, bind)
	s.wait(2 * time.Second)
	s.write("db-0", deleting)
	s.audited("db-0", "delete", person("user-a"), func(w *observation.Write) { w.ResourceVersion = 0 })
	s.ended("db-0")
	s.write("again", inSet, bind, func(st *observation.State) { st.Name = "db-0" })
	s.write("again", ready)
	s.write("db-1", inSet, bind)
	s.write("db-1", ready)
	s.write("db", arrived)
	const want = `trace 0 converged
  reconcile StatefulSet db converged
    reconcile Pod db-0 superseded (owner)
    reconcile Pod db-1 converged (owner)
trace 1 deleted
  reconcile Pod db-0 deleted ~previous
    delete Pod db-0 (request)
    delete Pod db-0 (request)
trace 2 converged
  reconcile Pod db-0 converged ~owner ~heals
`
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	if diff := cmp.Diff(want, plain(traces)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	authors := []string{"StatefulSet db: kubectl ", "Pod db-0: kubectl user-a", "Pod db-0: statefulset-controller "}
	if diff := cmp.Diff(authors, authorsOf(traces)); diff != "" {
		t.Errorf("authors: -want +got:\n%s", diff)
	}
	links := []string{
		"Pod db-0 of 1: previous Pod db-0 of 0",
		"Pod db-0 of 2: owner StatefulSet db of 0",
		"Pod db-0 of 2: heals Pod db-0 of 1",
	}
	if diff := cmp.Diff(links, linksOf(traces)); diff != "" {
		t.Errorf("links: -want +got:\n%s", diff)
	}
	if got := attributeText(traces[2].Root(), span.KeyHeals); got != "Pod db-0" {
		t.Errorf("the replacement heals %q", got)
	}
	inAnyOrder(t, s, outline)
}

// TestClaimTemplates: the claims of all templates belong to the change of their StatefulSet, and each volume to
// its claim.
func TestClaimTemplates(t *testing.T) {
	templates := []string{"data", "log"}
	claim := func(name object.Name) object.Relation { return object.Relation{Type: object.Claim, To: name} }
	volume := func(of string) func(*observation.State) {
		return func(st *observation.State) {
			st.Namespace, st.ObservedGeneration, st.Progress = "", -1, observation.ProgressCurrent
			st.Relations = []object.Relation{claim(object.Name{
				Kind: "PersistentVolumeClaim", Namespace: "default", Name: of,
			})}
		}
	}
	s := newStory()
	s.write("db", deployment(2), ofKind("apps", "StatefulSet"), func(st *observation.State) {
		st.Progress = observation.ProgressInProgress
		for _, template := range templates {
			st.Relations = append(st.Relations, claim(kind.ClaimsOf("default", template, "db")))
		}
	})
	want := "trace 0 converged\n  reconcile StatefulSet db converged\n"
	for _, pod := range []string{"db-0", "db-1"} {
		for _, template := range templates {
			name := template + "-" + pod
			s.write(name, ofKind("", "PersistentVolumeClaim"), managedBy(change.Manager), func(st *observation.State) {
				st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
			})
			want += "    reconcile PersistentVolumeClaim " + name + " converged (relation)\n" +
				"      reconcile PersistentVolume pv-" + name + " converged (relation)\n"
		}
		s.write(pod, inSet)
		for _, template := range templates {
			name := template + "-" + pod
			s.write("pv-"+name, ofKind("", "PersistentVolume"), managedBy("csi-provisioner"), volume(name))
			s.write(name, func(st *observation.State) { st.Progress = observation.ProgressCurrent })
		}
		s.write(pod, bind)
		s.write(pod, ready)
		want += "    reconcile Pod " + pod + " converged (owner)\n"
	}
	s.write("db", arrived)
	if diff := cmp.Diff(want, plain(observe(s.seen).Traces(s.now().Add(time.Minute)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, plain(looks(s))); diff != "" {
		t.Errorf("with a look every second: -want +got:\n%s", diff)
	}
	inAnyOrder(t, s, outline)
}
