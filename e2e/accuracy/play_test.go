// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
)

// scenario is a sequence of writes by several people, and the changes that a careful engineer would
// list afterwards. They are written down before it is played.
type scenario struct {
	name string
	// scenery prepares the stage. Its changes are not judged.
	scenery func(*stage)
	play    func(*stage)
	// want has a line for each change, in any order:
	//
	//	AUTHOR VERB KIND NAME OUTCOME: EFFECT, EFFECT ×N
	//
	// An effect is what happened to another object in the change's trace. The ReplicaSets of web are
	// web-A, web-B … in order of creation, their Pods web-A-*. NS stands for the namespace. Where the
	// course depends on chance, an outcome has alternatives: converged|superseded. In a fight, the
	// opponent and the number precede the outcome: against user-b #2.
	want []string
	// refusals are lines of refused changes: only the audit log shows them.
	refusals []string
	// links has a line for each link between objects: KIND NAME REASON KIND NAME.
	links []string
	// series is the number of writes that are counted in a trace and have no own.
	series int
}

// stage is where a scenario is played: its own namespace of a cluster.
type stage struct {
	*harness.Bench

	t       *testing.T
	ns      string
	ledgers []*stored.Ledger
}

// settled is the time without a write after which a change is over.
const settled = 2500 * time.Millisecond

// as runs kubectl in the scenario's namespace as that user. The user's name is the field manager of
// commands that take one.
func (s *stage) as(user string, args ...string) {
	s.t.Helper()
	s.given(user, "", args...)
}

// takesManager are the commands of kubectl with the flag --field-manager.
var takesManager = []string{"apply", "create", "label", "annotate", "set", "patch", "run", "expose", "taint", "replace"}

// given is as with standard input.
func (s *stage) given(user, stdin string, args ...string) {
	s.t.Helper()
	if slices.Contains(takesManager, args[0]) && !slices.Contains(args, "--raw") {
		args = append(slices.Clone(args), "--field-manager="+user)
	}
	if !slices.Contains(args, "--raw") {
		args = append([]string{"-n", s.ns}, args...)
	}
	if out, err := s.RunKubectlAs(s.t.Context(), user, strings.NewReader(stdin), args...); err != nil {
		s.t.Fatalf("kubectl %s as %s: %v\n%s", strings.Join(args, " "), user, err, out)
	}
}

// apply applies a manifest as that user. NS in it stands for the scenario's namespace.
func (s *stage) apply(user, manifest string) {
	s.t.Helper()
	s.given(user, strings.ReplaceAll(manifest, "NS", s.ns), "apply", "-f", "-")
}

// await waits with kubectl.
func (s *stage) await(condition, object string) {
	s.t.Helper()
	s.MustKubectl(s.t, "", "-n", s.ns, "wait", "--for="+condition, object, "--timeout=4m")
}

// rolled waits for the rollout of a workload.
func (s *stage) rolled(workload string) {
	s.t.Helper()
	s.MustKubectl(s.t, "", "-n", s.ns, "rollout", "status", workload, "--timeout=4m")
	s.settle()
}

// settle waits until nothing was written in the namespace for some time.
func (s *stage) settle() {
	s.t.Helper()
	s.settleIn(s.ns)
}

// settleIn is settle for another namespace.
func (s *stage) settleIn(namespace string) {
	s.t.Helper()
	harness.Eventually(s.t, "quiet in namespace "+namespace, func() bool {
		return !slices.ContainsFunc(s.ledgers, func(l *stored.Ledger) bool { return !l.Quiet(namespace, settled) })
	})
}

// get returns the names of objects of a kind with a label.
func (s *stage) get(kind, selector string) []string {
	s.t.Helper()
	return strings.Fields(s.MustKubectl(s.t, "", "-n", s.ns, "get", kind, "-l", selector,
		"-o", "jsonpath={.items[*].metadata.name}"))
}

// web is the manifest of a Deployment.
func web(version, replicas int, notes ...string) string {
	annotations := "lab.lifeline.dev/stop: 100ms"
	for _, n := range notes {
		annotations += ", lab.lifeline.dev/" + n
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {%s}}
    spec: {containers: [{name: app, image: "registry.example/web:%d"}]}
`, replicas, annotations, version)
}

// hasty gives a Deployment's manifest a short progress deadline.
func hasty(manifest string) string {
	return strings.Replace(manifest, "spec:\n", "spec:\n  progressDeadlineSeconds: 4\n", 1)
}

// refused runs a command of kubectl that the API server must refuse.
func (s *stage) refused(user string, args ...string) {
	s.t.Helper()
	if out, err := s.RunKubectlAs(s.t.Context(), user, nil, append([]string{"-n", s.ns}, args...)...); err == nil {
		s.t.Fatalf("kubectl %s as %s was not refused\n%s", strings.Join(args, " "), user, out)
	}
}

// idle returns the name of a ReplicaSet that was scaled to nothing.
func (s *stage) idle() string {
	s.t.Helper()
	return s.MustKubectl(s.t, "", "-n", s.ns, "get", "replicasets",
		"-o", `jsonpath={.items[?(@.spec.replicas==0)].metadata.name}`)
}

// succeeds waits for the next successful run of a CronJob.
func (s *stage) succeeds(object string) {
	s.t.Helper()
	last := func() string {
		return s.MustKubectl(s.t, "", "-n", s.ns, "get", object, "-o", "jsonpath={.status.lastSuccessfulTime}")
	}
	before := last()
	harness.Eventually(s.t, "a run of "+object, func() bool { return last() != before })
}
