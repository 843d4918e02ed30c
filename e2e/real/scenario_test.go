// SPDX-License-Identifier: Apache-2.0

package real

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/scenario"
	"github.com/kube-lifeline/lifeline/lab/audit"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// TestScenarios is slow: e2e/kwok runs the same scenarios in make test.
func TestScenarios(t *testing.T) {
	harness.Slow(t)
	scenario.All(t, bench)
}

// deployment returns the manifest of Deployment app with the given lines of its Pod's spec.
func deployment(namespace, podSpec string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: %s}
spec:
  replicas: 1
  progressDeadlineSeconds: 240
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      terminationGracePeriodSeconds: 1
%s`, namespace, podSpec)
}

func TestImageAlreadyThere(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	bench.MustKubectl(t, pod(ns, "first", ""), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=condition=Ready", "pod/first", "--timeout=4m")
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, deployment(ns, `
      containers:
        - name: app
          image: `+bench.Image("app:v1")+`
`)))
	o.Expect(t, r, `
run converged
  reconcile Deployment app converged (request)
    create Deployment app (request)
    reconcile ReplicaSet app-A converged (owner)
      reconcile Pod app-A-* converged (owner)
        [readiness, sandbox, schedule, start container]
`)
	o.Check(t, r, func(name string, _ audit.Write) int {
		if name == "first" {
			return -1 // its kubelet may still update the status after the start
		}
		return 0
	})
}

func TestInitAndSidecarContainers(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	o := bench.Oracle(t, ns)
	image := bench.Image("app:v1")
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, deployment(ns, `
      initContainers:
        - name: first
          image: `+image+`
          env: [{name: LIFETIME, value: 300ms}]
        - name: side
          image: `+image+`
          restartPolicy: Always
          env: [{name: PORT, value: "9001"}]
      containers:
        - name: app
          image: `+image+`
        - name: other
          image: `+image+`
          env: [{name: PORT, value: "9002"}]
`)))
	tr := r.Traces[0]
	if n := len(tr.Find("init container", "")); n != 1 {
		t.Errorf("%d init containers, want 1", n)
	}
	started := map[string]bool{}
	for _, s := range tr.Find("start container", "") {
		started[s.Attributes["k8s.container.name"]] = true
	}
	if diff := cmp.Diff(map[string]bool{"side": true, "app": true, "other": true}, started); diff != "" {
		t.Errorf("started containers (-want +got):\n%s", diff)
	}
	init := tr.Find("init container", "")[0]
	for _, s := range tr.Find("start container", "") {
		if s.End.Before(init.End) {
			t.Errorf(
				"container %s started at %s, before the init container ended at %s",
				s.Attributes["k8s.container.name"],
				s.End,
				init.End,
			)
		}
	}
	o.Check(t, r, harness.All)
}

// TestSlowPull compares our span of a pull with the kubelet's. The duration in the kubelet's Event
// includes the time in which its goroutines wait for a processor; that of its span does not. On a
// busy machine, this noise may occur in one pull, but not in all.
func TestSlowPull(t *testing.T) {
	if err := bench.SetPullBandwidth(t.Context(), 3<<20); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bench.SetPullBandwidth(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}()
	const tolerance = 50 * time.Millisecond
	for range 6 {
		ours, theirs := slowPull(t)
		start, end := ours.Start.Sub(theirs.Start), ours.End.Sub(theirs.End)
		t.Logf("pull: ours %s, the kubelet's own %s; start differs by %s, end by %s",
			ours.End.Sub(ours.Start), theirs.End.Sub(theirs.Start), start, end)
		if max(start.Abs(), end.Abs(), (end-start).Abs()) <= tolerance {
			return
		}
	}
	t.Errorf("no pull is within %s of the kubelet's span", tolerance)
}

// slowPull pulls a new image. It returns our span of the pull, and the kubelet's.
func slowPull(t *testing.T) (ours, theirs *harness.Span) {
	t.Helper()
	ns := bench.Namespace(t)
	image, err := bench.PushImage(
		t.Context(),
		"slow:"+ns,
		testimage.Spec{Padding: 6 << 20, Seed: uint64(time.Now().UnixNano())},
	)
	if err != nil {
		t.Fatal(err)
	}
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "apply", "-f", harness.File(t, deployment(ns, `
      containers:
        - name: app
          image: `+image+`
`)))
	o.Check(t, r, harness.All)
	pulls := r.Traces[0].Find("pull image", "")
	if len(pulls) != 1 {
		t.Fatalf("%d pulls, want 1", len(pulls))
	}
	spans := kubelet.Await(t, 1, func(s *harness.Span) bool {
		return strings.HasSuffix(s.Name, "/PullImage") && !s.Start.Before(r.Began) && s.End.Before(r.Ended)
	})
	return pulls[0], spans[0]
}

func TestFailedRollouts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		spec   string
		want   string
		phase  string
	}{
		"crash loop": {
			"the error has the exit code",
			`
      containers:
        - name: app
          image: ` + "IMAGE" + `
          env: [{name: LIFETIME, value: 100ms}, {name: EXIT_CODE, value: "3"}]
          readinessProbe: {exec: {command: [/app, ready]}, initialDelaySeconds: 30}
`, "exited with code 3", "backoff",
		},
		"crash loop without a probe": {
			"a short time of readiness is not convergence, and only lifeline gives up on it",
			`
      containers:
        - name: app
          image: ` + "IMAGE" + `
          env: [{name: LIFETIME, value: 100ms}, {name: EXIT_CODE, value: "7"}]
`, "exited with code 7", "run container",
		},
		"image not found": {
			"the error has the reason of the failed pull",
			`
      containers:
        - name: app
          image: ` + "IMAGE" + `-missing
`, "not found", "pull image",
		},
		"unschedulable": {
			"the error has the missing resource",
			`
      containers:
        - name: app
          image: ` + "IMAGE" + `
          resources: {requests: {memory: 4Ti}}
`, "Insufficient memory", "schedule",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each case waits for its deadline
			ns := bench.Namespace(t)
			manifest := deployment(ns, strings.ReplaceAll(tt.spec, "IMAGE", bench.Image("app:v1")))
			// A short deadline, but long enough for a slow machine to reach the failure.
			manifest = strings.Replace(manifest, "progressDeadlineSeconds: 240", "progressDeadlineSeconds: 30", 1)
			r := bench.Run(t, 4, nil, "kubectl", "apply", "-f", harness.File(t, manifest))
			if !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("%s: stderr lacks %q:\n%s", tt.reason, tt.want, r.Stderr)
			}
			phases := r.Traces[0].Find(tt.phase, "")
			if len(phases) == 0 || !phases[0].Error {
				t.Errorf("%s: no failed phase %q in %s", tt.reason, tt.phase, harness.Names{}.Outline(r.Traces[0]))
			}
		})
	}
}

func TestUnschedulableThenScheduled(t *testing.T) {
	ns := bench.Namespace(t)
	bench.MustKubectl(t, "", "cordon", "-l", "kubernetes.io/os=linux")
	uncordon := func() { bench.MustKubectl(t, "", "uncordon", "-l", "kubernetes.io/os=linux") }
	defer uncordon()
	done := make(chan harness.Result, 1)
	manifest := harness.File(t, deployment(ns, `
      containers:
        - name: app
          image: `+bench.Image("app:v1")+`
`))
	go func() { done <- bench.Exec(t, "run", "-o", "json", "--", "kubectl", "apply", "-f", manifest) }()
	bench.MustKubectl(t, "", "-n", ns, "wait", "--for=create", "deployment/app", "--timeout=4m")
	harness.Eventually(t, "an unschedulable Pod", func() bool {
		return strings.Contains(
			bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "jsonpath={.items[*].status.conditions[*].reason}"),
			"Unschedulable",
		)
	})
	uncordon()
	r := harness.Parse(t, <-done)
	if r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	schedule := r.Traces[0].Find("schedule", "")
	if len(schedule) != 1 || len(schedule[0].Events) == 0 || schedule[0].Error {
		t.Errorf("got schedule phases %+v, want one that succeeded after failed attempts", schedule)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	bench.MustKubectl(t, deployment(ns, `
      containers:
        - name: app
          image: `+bench.Image("app:v1")+`
          env: [{name: TERM_DELAY, value: 700ms}]
`), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/app", "--timeout=4m")
	o := bench.Oracle(t, ns)
	r := bench.Run(t, 0, nil, "kubectl", "-n", ns, "delete", "deployment/app")
	o.Expect(t, r, `
run converged
  reconcile Deployment app deleted (request)
    delete Deployment app (request)
    reconcile ReplicaSet app-A deleted (owner)
      reconcile Pod app-A-* deleted (owner)
        [terminate]
`)
	o.Check(t, r, harness.All)
	if s := r.Traces[0].Find("terminate", ""); len(s) == 1 && s[0].End.Sub(s[0].Start) < 600*time.Millisecond {
		t.Errorf("terminate lasted %s, though the container takes 700ms to stop", s[0].End.Sub(s[0].Start))
	}
}
