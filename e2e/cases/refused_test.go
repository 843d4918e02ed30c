// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"strings"

	"github.com/kube-lifeline/lifeline/e2e/internal/cases"
)

// refused runs kubectl in the namespace, and expects the API server to refuse its write.
func refused(p *cases.Play, stdin string, args ...string) {
	p.T.Helper()
	out, err := p.Bench.RunKubectl(p.T.Context(), strings.NewReader(stdin), append([]string{"-n", p.NS}, args...)...)
	if err == nil {
		p.T.Errorf("kubectl %s was not refused: %s", strings.Join(args, " "), out)
	}
}

// applyConflict is a server-side apply that conflicts with the manager of two fields.
var applyConflict = cases.Case{
	Name: "apply conflict", Report: "pulumi/pulumi-kubernetes#2491",
	Manifest: deployment("web", 1, ""),
	Act: func(p *cases.Play) {
		p.Kubectl("rollout", "status", "deployment/web")
		other := strings.Replace(deployment("web", 5, ""), "web:1", "web:2", 1)
		refused(p, other, "apply", "--server-side", "--field-manager=ci", "-f", "-")
	},
	Want: []cases.Answer{{Object: "deployment/web", Text: `
The change of Deployment web was refused SOME ago: Apply failed: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas, conflict with "kubectl-client-side-apply" using apps/v1: .spec.template.spec.containers[name="app"].image. Deployment web is fine, 1 of 1.
Request: of admin at TIME, trace ID.
Next: kubectl -n NS describe deployment/web
Deployment web converged SOME ago, in SOME; slowest: SOME.
`}},
}

// immutableData is a change of an immutable ConfigMap.
var immutableData = cases.Case{
	Name: "immutable ConfigMap",
	Manifest: `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
immutable: true
data: {mode: a}
`,
	Act: func(p *cases.Play) {
		refused(p, "", "patch", "configmap/settings", "--type=merge", "-p", `{"data":{"mode":"b"}}`)
	},
	Want: []cases.Answer{{Object: "configmap/settings", Text: `
The change of ConfigMap settings was refused SOME ago: data: Forbidden: field is immutable when ` + "`immutable`" + ` is set. ConfigMap settings is as it was.
Request: of admin at TIME, trace ID.
Next: kubectl -n NS describe configmap/settings
ConfigMap settings converged SOME ago, in SOME; slowest: SOME.
`}},
}
