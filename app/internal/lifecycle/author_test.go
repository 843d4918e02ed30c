// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
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
