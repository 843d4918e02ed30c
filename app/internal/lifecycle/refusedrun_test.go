// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestRefusedCommand: a refused request of a command is one trace, also with the audit log: with the user, the
// reason and the state of the object.
func TestRefusedCommand(t *testing.T) {
	const conflict = `Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas`
	for name, tc := range map[string]struct {
		reason     string
		fine       bool
		audit      bool
		user, text string
	}{
		"run alone": {"no audit log", true, false, "", "; Deployment web is fine, 2 of 2"},
		"audited":   {"the same request twice is one", true, true, "jane", "; Deployment web is fine, 2 of 2"},
		"running": {
			"an object that has not converged is as it was", false, true, "jane", "; Deployment web is as it was",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("web", deployment(2))
			if tc.fine {
				s.write("web", arrived, func(st *observation.State) { st.Workload.Ready = 2 })
			}
			s.wait(time.Minute)
			s.before()
			s.run(runID, "kubectl apply --server-side")
			s.wait(time.Second)
			audited := s.audited("web", "apply", refusedWith(409, "Conflict"))
			audited.Message = conflict
			refused := *audited
			refused.UID, refused.User, refused.TraceParent = "", "", "00-"+runID+"-0000000000000007-01"
			if !tc.audit {
				s.seen = s.seen[:len(s.seen)-1]
			}
			s.emit(observation.Observation{Source: observation.SourceRequest, Write: &refused})
			s.ran(runID, "kubectl apply --server-side")
			s.seen[len(s.seen)-1].Run.ExitCode = 1
			traces := observe(s.seen).Traces(s.now().Add(time.Minute))
			if tc.fine && len(traces) != 1 { // else there is the one of the Deployment's creation
				t.Fatalf("%s: %d traces:\n%s", tc.reason, len(traces), outline(traces))
			}
			got := traces[0]
			want := "the change of Deployment web was refused: " + conflict + tc.text
			if got.Outcome != span.Refused || got.Reason != want {
				t.Errorf("%s: got %s: %q\nwant %q", tc.reason, got.Outcome, got.Reason, want)
			}
			if user := insight.Attribute(got.Root(), span.KeyActorUser); user != tc.user {
				t.Errorf("%s: user %q, want %q", tc.reason, user, tc.user)
			}
			if len(got.Spans) != 2 { // the command, and its request
				t.Errorf("%s: %d spans:\n%s", tc.reason, len(got.Spans), outline(traces))
			}
		})
	}
}
