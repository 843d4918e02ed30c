// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestAuthorsDecide: by the audit log, an author other than the owner's controller makes a separate
// change (rule A2). Without an audited author, a deletion of an unwanted object is the
// controller's.
func TestAuthorsDecide(t *testing.T) {
	rollout := func(s *story, limit int32) {
		s.write("web", deployment(0), func(st *observation.State) { st.Workload.HistoryLimit = limit })
		s.write("web-1", replicaSet("web", 0))
		s.write("web-1", arrived)
		s.write("web-2", replicaSet("web", 0))
		s.write("web-2", arrived)
		s.write("web", arrived)
	}
	removed := func(user string, edits ...func(*observation.Write)) func(*story) {
		return func(s *story) {
			s.audited("web-1", "delete", append([]func(*observation.Write){func(w *observation.Write) {
				w.User, w.ResourceVersion, w.UserAgent = user, 0, "kubectl/v1.36.3"
			}}, edits...)...)
		}
	}
	const own, part = "reconcile ReplicaSet web-1 deleted", "reconcile ReplicaSet web-1 deleted (owner)"
	for name, tc := range map[string]struct {
		reason string
		limit  int32
		log    func(*story)
		want   string
	}{
		"Surplus": {"the Deployment keeps one old ReplicaSet, and one is left", 1, nil, part},
		"Kept":    {"the Deployment keeps ten, so its controller took none away", 10, nil, own},
		"Person":  {"the audit log names a person", 1, removed("jane"), own},
		"Collector": {
			"the audit log names another controller", 1, removed(cause.ControllerAccounts + "ttl-controller"), own,
		},
		"Controller": {
			"the audit log names the Deployment controller", 10,
			removed(cause.ControllerAccounts + "deployment-controller"), part,
		},
		"AllInOne": {"all controllers write as one user", 1, removed("system:" + change.Manager), part},
		"Forged": {
			"a source that lets anyone send decides nothing", 1,
			removed("jane", func(w *observation.Write) { w.Unauthenticated = true }), part,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			rollout(s, tc.limit)
			s.gone("web-1")
			if tc.log != nil {
				tc.log(s)
			}
			var got string
			for line := range strings.Lines(s.outline(t)) {
				if strings.Contains(line, "ReplicaSet web-1 deleted") {
					got = strings.TrimSpace(strings.ReplaceAll(line, " ~previous", ""))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%s", tc.reason, diff, s.outline(t))
			}
		})
	}
}

// TestSurplusRequest: cert-manager removes the CertificateRequest of an earlier revision some time after
// the issuance. The removal belongs to that issuance.
func TestSurplusRequest(t *testing.T) {
	const certManager = "system:serviceaccount:cert-manager:cert-manager"
	const own, part = "reconcile CertificateRequest web-1 deleted", "reconcile CertificateRequest web-1 deleted (owner)"
	request := func(st *observation.State) {
		ofKind("cert-manager.io", "CertificateRequest")(st)
		certificate := object.Kind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
		st.Owners = []object.Owner{{Kind: certificate, Name: "web", UID: "uid-web", Controller: true}}
		st.Managers = []observation.Manager{{Name: "cert-manager-certificaterequests", Operation: "Update", Fields: 1}}
	}
	for name, tc := range map[string]struct {
		reason string
		later  bool
		user   string
		want   string
	}{
		"Surplus":    {"a request of a later revision is left", true, "", part},
		"Last":       {"no other request is left", false, "", own},
		"Person":     {"the audit log names a person", true, "jane", own},
		"Controller": {"the audit log names the user who made the request", true, certManager, part},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			made := func(name string) {
				s.write(name, request)
				s.audited(name, "create", func(w *observation.Write) { w.User = certManager })
				s.write(name, arrived)
			}
			s.write("web", ofKind("cert-manager.io", "Certificate"))
			made("web-1")
			s.write("web", arrived)
			if tc.later {
				s.write("web", func(st *observation.State) { st.Generation, st.Desired = 2, 2 })
				made("web-2")
				s.write("web", arrived)
			}
			s.rv += 100 // ten seconds
			s.gone("web-1")
			if tc.user != "" {
				s.audited("web-1", "delete", func(w *observation.Write) { w.User, w.ResourceVersion = tc.user, 0 })
			}
			var got string
			for line := range strings.Lines(s.outline(t)) {
				if strings.Contains(line, "web-1 deleted") {
					got = strings.TrimSpace(strings.ReplaceAll(line, " ~previous", ""))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%s", tc.reason, diff, s.outline(t))
			}
		})
	}
}

// setBy sets a field as a field manager beside the first one.
func setBy(manager, path string, value uint64) func(*observation.State) {
	return func(st *observation.State) {
		valued(path, value)(st)
		st.Managers = append(st.Managers[:1:1], observation.Manager{
			Name: manager, Operation: "Update", Fields: st.ResourceVersion,
		})
		lastHas(st, path)
	}
}

// lastHas makes the last field manager the only one of a field.
func lastHas(st *observation.State, path string) {
	for i := range st.Leaves {
		if st.Leaves[i].Path == path {
			st.Leaves[i].Managers = 1 << (len(st.Managers) - 1)
		}
	}
}

// TestChangeBeforeReplicaSet: another person's change between the new template and its ReplicaSet takes nothing
// from the rollout.
func TestChangeBeforeReplicaSet(t *testing.T) {
	s := newStory()
	s.settled(1)
	s.write("web", valued(newImage, 2), by("user-a"))
	s.write("web", setBy("user-b", "spec.minReadySeconds", 5))
	s.revised(2, 1, 1)
	s.write("web", func(st *observation.State) {
		st.ObservedGeneration = st.Generation
		st.Workload.Total, st.Workload.Updated = 2, 1
	})
	s.started("web-2", "a")
	s.wait(5 * time.Second)
	s.removed("web-1", 0, "a")
	s.write("web", arrived)
	const want = `trace 0 converged
  reconcile Deployment web converged ~concurrent
    reconcile ReplicaSet web-2 converged (owner)
      reconcile Pod web-2-a converged (owner)
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a deleted (owner)
trace 1 converged
  reconcile Deployment web converged ~concurrent
`
	for how, traces := range map[string][]*span.Trace{
		"at the end": observe(s.seen).Traces(s.now().Add(time.Minute)), "with a look every second": looks(s),
	} {
		if diff := cmp.Diff(want, plain(traces)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", how, diff)
		}
		authors := []string{"Deployment web: user-a ", "Deployment web: user-b "}
		if diff := cmp.Diff(authors, authorsOf(traces)); diff != "" {
			t.Errorf("%s: authors: -want +got:\n%s", how, diff)
		}
		links := []string{
			"Deployment web of 0: concurrent Deployment web of 1",
			"Deployment web of 1: concurrent Deployment web of 0",
		}
		if diff := cmp.Diff(links, linksOf(traces)); diff != "" {
			t.Errorf("%s: links: -want +got:\n%s", how, diff)
		}
	}
	inAnyOrder(t, s, outline)
}

// TestTwoEditsInOneSecond: two people change one field in one second. Each change has its author, as far as known.
func TestTwoEditsInOneSecond(t *testing.T) {
	type edits []func(*observation.State)
	second := epoch.Add(time.Minute)
	label := func(value uint64) func(*observation.State) {
		return func(st *observation.State) {
			setBy("kubectl-label", tier, value)(st)
			st.Managers[1].Fields, st.Managers[1].Time = 5, second
		}
	}
	forced := func(image uint64, managers ...string) func(*observation.State) {
		return func(st *observation.State) {
			valued(newImage, image)(st)
			st.Managers = nil
			for i, name := range managers {
				st.Managers = append(st.Managers, observation.Manager{
					Name: name, Operation: "Apply", Fields: uint64(len(managers) - i), Time: second,
				})
			}
			lastHas(st, newImage)
		}
	}
	labels := edits{label(2), label(3)}
	forces := edits{forced(2, "user-a"), forced(3, "user-a", "user-b")}
	for name, tc := range map[string]struct {
		reason string
		edits  edits
		audit  bool
		want   []string
	}{
		"Identical entries": {
			"the field manager is the same", labels, false,
			[]string{"Deployment web: kubectl ", "Deployment web: kubectl "},
		},
		"Identical entries, audit log": {
			"the audit log has the user of each", labels, true,
			[]string{"Deployment web: kubectl user-a", "Deployment web: kubectl user-b"},
		},
		"Forced": {
			"the field has a new manager", forces, false,
			[]string{"Deployment web: user-a ", "Deployment web: user-b "},
		},
		"Forced, audit log": {
			"the audit log has the user of each", forces, true,
			[]string{"Deployment web: kubectl user-a", "Deployment web: kubectl user-b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("web", deployment(0), valued(newImage, 1), valued(tier, 1), sized(0), fresh, arrived)
			s.wait(time.Minute)
			s.before()
			for i, edit := range tc.edits {
				st := s.write("web", edit)
				if tc.audit {
					s.audited("web", "patch", person([]string{"user-a", "user-b"}[i]), func(w *observation.Write) {
						w.Manager = st.Managers[len(st.Managers)-1].Name
					})
				}
			}
			s.write("web", arrived)
			if diff := cmp.Diff(tc.want, authorsOf(observe(s.seen).Traces(s.now().Add(time.Minute)))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, authorsOf(looks(s))); diff != "" {
				t.Errorf("%s, with a look every second: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, authorsOf)
		})
	}
}
