// SPDX-License-Identifier: Apache-2.0

package slower

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// rounds is the number of rollouts of each workload before the first shift and after each one. A shift needs eight
// samples on each side.
const rounds = 10

// The image and the node that become slow, beside the registry of mail and cart.
const (
	slowRegistry = "mirror.example"
	slowImage    = "api"
	slowNode     = "node-2"
)

// images are the repositories of the workloads: four Deployments and a DaemonSet.
var images = map[string]string{
	"deployment/mail": slowRegistry + "/mail", "deployment/cart": slowRegistry + "/cart",
	"deployment/web": "registry.example/web", "deployment/api": "registry.example/" + slowImage,
	"daemonset/agent": "registry.example/agent",
}

// workload has its kind, the rest of its spec, its name, and its image.
const workload = `
apiVersion: apps/v1
kind: %s
metadata: {name: %s}
spec:%s
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}, annotations: {lab.lifeline.dev/stop: 100ms}}
    spec:
      containers:
      - {name: app, image: "%[4]s", imagePullPolicy: Always, readinessProbe: {httpGet: {port: 80}}}
---
`

// policy slows the Pods down that match an expression, by an annotation for the fake nodes: its name, the namespace,
// the expression, the annotation and its value.
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
  matchConditions: [{name: slow, expression: '%[3]s'}]
  reinvocationPolicy: Never
  failurePolicy: Fail
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/annotations/lab.lifeline.dev~1%[4]s", value: "%[5]s"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`

// report is the part of `lifeline regressions -o json` that is compared.
type report struct {
	Series, Samples int
	Shifts          []shift
}

type shift struct {
	Workload, Kind, Phase string
	Attribute             *value
	Factors               []struct{ Values []value }
	Change                *struct{ Edits []string }
}

type value struct{ Attribute, Value string }

// goesWith reports whether the best explanation has a value.
func (s *shift) goesWith(v value) bool {
	return len(s.Factors) > 0 && slices.Contains(s.Factors[0].Values, v)
}

// play is the state of the test.
type play struct {
	*testing.T
	server *harness.Server
	ns     string
	// version is that of all images.
	version int
}

func (p *play) kubectl(stdin string, args ...string) string {
	p.Helper()
	return bench.MustKubectl(p.T, stdin, append([]string{"-n", p.ns}, args...)...)
}

// roll rolls out a new version of each workload, rounds times. Each is finished before the next begins.
func (p *play) roll() {
	p.Helper()
	for range rounds {
		p.version++
		for of, image := range images {
			p.kubectl("", "set", "image", of, fmt.Sprintf("app=%s:%d", image, p.version))
		}
		for of := range images {
			p.kubectl("", "rollout", "status", of, "--timeout=120s")
		}
		harness.Eventually(p.T, "no running change", func() bool {
			return len(p.server.List(p.T, url.Values{"namespace": {p.ns}, "state": {"running"}})) == 0
		})
	}
}

// slow makes the Pods slow that match, and waits until the policy is in effect.
func (p *play) slow(name, expression, annotation, length, image string) {
	p.Helper()
	name = p.ns + "-" + name
	p.kubectl(fmt.Sprintf(policy, name, p.ns, expression, annotation, length), "apply", "-f", "-")
	harness.Eventually(p.T, "the policy "+name+" being in effect", func() bool {
		return strings.Contains(p.kubectl("", "run", "probe", "--image="+image, "--dry-run=server", "-o", "yaml",
			"--annotations=lab.lifeline.dev/stop=0s",
			`--overrides={"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":`+
				`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["`+slowNode+
				`"]}]}]}}}}}`), "lab.lifeline.dev/"+annotation+": "+length)
	})
}

// report returns what got slower, and logs the text.
func (p *play) report() report {
	p.Helper()
	call := func(args ...string) harness.Result {
		return bench.Do(p.T, harness.Call{
			Args: append([]string{"regressions", "-n", p.ns}, args...),
			Env:  []string{"LIFELINE_SERVER=http://" + p.server.APIAddress()},
		})
	}
	text := call()
	p.Logf("$ lifeline regressions\n%s%s", text.Stdout, text.Stderr)
	var out report
	if r := call("-o", "json"); json.Unmarshal([]byte(r.Stdout), &out) != nil {
		p.Fatalf("lifeline regressions -o json: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	return out
}

// one returns the only shift that fits. Shifts of the total, and of phases that contain others, follow from it.
func (r *report) one(t *testing.T, what string, fits func(*shift) bool) *shift {
	t.Helper()
	var found []*shift
	for i := range r.Shifts {
		if fits(&r.Shifts[i]) {
			found = append(found, &r.Shifts[i])
		}
	}
	if len(found) != 1 {
		t.Errorf("%s: %d regressions, want one", what, len(found))
		return &shift{}
	}
	return found[0]
}

// TestSlower: a registry becomes slow, then a new image, then a node. Each report names the new cause, and the image's
// names the change that brought it.
func TestSlower(t *testing.T) {
	harness.Slow(t)
	p := &play{T: t, ns: bench.Namespace(t), server: bench.Server(t, harness.ServerOptions{})}
	p.server.Start(t)
	var all strings.Builder
	for of, image := range images {
		_, name, _ := strings.Cut(of, "/")
		kind, spec := "Deployment", "\n  strategy: {type: Recreate}"
		if strings.HasPrefix(of, "daemonset") {
			kind, spec = "DaemonSet", "\n  updateStrategy: {rollingUpdate: {maxUnavailable: 100%}}"
		}
		fmt.Fprintf(&all, workload, kind, name, spec, image+":0")
	}
	p.kubectl(all.String(), "apply", "-f", "-")
	p.roll()
	if r := p.report(); len(r.Shifts) != 0 || r.Samples == 0 {
		t.Errorf("before: %d regressions in %d samples", len(r.Shifts), r.Samples)
	}

	p.slow("registry", `object.spec.containers[0].image.startsWith("`+slowRegistry+`/")`, "pull", "2s",
		slowRegistry+"/probe:1")
	p.roll()
	r := p.report()
	registry := value{"registry", slowRegistry}
	for _, of := range []string{"Deployment/mail", "Deployment/cart"} {
		pull := r.one(t, of+" after the registry", func(s *shift) bool {
			return s.Workload == of && s.Kind == "Pod" && s.Phase == "pull"
		})
		if !pull.goesWith(registry) && pull.Workload != "" {
			t.Errorf("%s goes with %+v, want %v", of, pull.Factors, registry)
		}
	}

	began := fmt.Sprintf("image api:%d → api:%d", p.version, p.version+1)
	p.slow("image", `object.spec.containers[0].image.contains("/`+slowImage+`:")`, "ready", "2s",
		"registry.example/"+slowImage+":1")
	p.roll()
	r = p.report()
	readiness := r.one(t, "the image", func(s *shift) bool {
		return s.Workload == "Deployment/api" && s.Kind == "Pod" && s.Phase == "readiness"
	})
	if c := readiness.Change; c == nil || !slices.Contains(c.Edits, began) {
		t.Errorf("the image: it began with %+v, want %s", c, began)
	}

	p.slow("node", `object.spec.?affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.`+
		`nodeSelectorTerms[0].matchFields[0].values[0].orValue("") == "`+slowNode+`"`, "ready", "2500ms",
		"registry.example/agent:1")
	p.roll()
	r = p.report()
	r.one(t, "the node", func(s *shift) bool {
		return s.Attribute != nil && *s.Attribute == value{"node", slowNode} && s.Phase == "readiness"
	})
	for _, s := range r.Shifts {
		if s.Workload == "Deployment/web" {
			t.Errorf("%s of Deployment/web got slower, but nothing of it was slow", s.Phase)
		}
	}
	p.server.Stop(t)
}
