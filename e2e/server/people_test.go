// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestSeveralPeople: two people change one Deployment by turns, without an audit log. The server is
// killed in between. It has each change once, with the author where a write leaves one.
func TestSeveralPeople(t *testing.T) {
	t.Parallel()
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	ns := bench.Namespace(t)
	as := func(user string, args ...string) {
		t.Helper()
		bench.MustKubectl(t, "", append([]string{"-n", ns, "--field-manager", user}, args...)...)
	}
	as("user-a", "create", "deployment", "web", "--image=web:1", "--replicas=1")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web")
	as("user-a", "label", "deployment", "web", "tier=a")
	s.AwaitIdle(t)
	s.Kill(t)
	as("user-b", "label", "deployment", "web", "tier=b", "--overwrite")
	s.Start(t)
	as("user-a", "set", "image", "deployment/web", "web=web:2")
	as("user-b", "annotate", "deployment", "web", "note=1")
	as("user-b", "label", "deployment", "web", "tier-")
	bench.MustKubectl(t, "", "-n", ns, "scale", "deployment/web", "--replicas=2")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web")
	s.AwaitIdle(t)

	var got []string
	for _, tr := range s.Traces(t, ns) {
		if root := tr.Spans[0]; root.Name == "reconcile Deployment" {
			got = append(got, root.Attributes["lifeline.actor.component"]+" "+root.Attributes["lifeline.write.fields"]+
				" "+root.Outcome())
		}
	}
	slices.Sort(got)
	want := []string{
		` ["metadata.labels.tier"] converged`,
		`kubectl ["spec.replicas"] converged`,
		`user-a  converged`,
		`user-a ["metadata.labels.tier"] converged`,
		`user-a ["spec.template.spec.containers[name=web].image"] converged`,
		`user-b ["metadata.annotations.note"] converged`,
		`user-b ["metadata.labels.tier"] converged`,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("changes of the Deployment: -want +got:\n%s", diff)
	}
}
