// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/scenario"
)

func TestScenarios(t *testing.T) { scenario.All(t, bench) }

func TestSecondRolloutWhileFirstIsOpen(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	slow := harness.File(t, scenario.Web(ns, bench.Image("app:v1"), 1, "lab.lifeline.dev/pull=60s"))
	o := bench.Oracle(t, ns)
	first := make(chan harness.Result, 1)
	go func() { first <- bench.Exec(t, "run", "-o", "json", "--", "kubectl", "apply", "-f", slow) }()
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=create", "deployment/web", "--timeout=4m")
	bench.MustKubectl(
		t,
		"",
		"-n",
		ns,
		"wait",
		"--for=jsonpath={.status.unavailableReplicas}=1",
		"deployment/web",
		"--timeout=4m",
	)
	harness.Eventually(t, "an Event of the image pull", func() bool {
		return bench.MustKubectl(
			t,
			"",
			"-n",
			ns,
			"get",
			"events",
			"--field-selector",
			"reason=Pulling",
			"-o",
			"name",
		) != ""
	})
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, scenario.Web(ns, bench.Image("app:v2"), 1)))
	o.Expect(t, r, `
run converged
  reconcile Deployment web converged (request) ~previous
    reconcile ReplicaSet web-A converged (owner) ~previous
      reconcile Pod web-A-* deleted (owner) ~previous
        [terminate]
    reconcile ReplicaSet web-B converged (owner)
      reconcile Pod web-B-* converged (owner)
        [pull image, readiness, sandbox, schedule, start container]
    update Deployment web (request)
`)
	was := <-first
	if was.Code != 0 {
		t.Fatalf("the superseded command: exit code %d, want 0\n%s", was.Code, was.Stderr)
	}
	o.Expect(t, harness.Parse(t, was), `
run superseded
  reconcile Deployment web superseded (request)
    create Deployment web (request)
    reconcile ReplicaSet web-A superseded (owner)
      reconcile Pod web-A-* superseded (owner)
        [pull image, sandbox, schedule]
`)
}
