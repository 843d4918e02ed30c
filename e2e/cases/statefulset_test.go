// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"strings"

	"github.com/kube-lifeline/lifeline/e2e/internal/cases"
)

// onDelete is a StatefulSet whose Pods stay at the former revision.
var onDelete = cases.Case{
	Name: "former revision",
	Manifest: statefulSet("manual", "{type: OnDelete}") + "---\n" +
		statefulSet("part", "{rollingUpdate: {partition: 2}}"),
	Act: func(p *cases.Play) {
		for _, name := range []string{"manual", "part"} {
			p.Kubectl("wait", "--for=jsonpath={.status.availableReplicas}=3", "statefulset/"+name, "--timeout=4m")
			p.As("jane", "set", "image", "statefulset/"+name, "app=registry.example/"+name+":2")
		}
	},
	Want: []cases.Answer{
		{Object: "statefulset/manual", Text: `
StatefulSet manual converged SOME ago, in SOME; slowest: SOME.
It keeps 3 of 3 Pods at the former revision: its update strategy OnDelete replaces a Pod only after its deletion.
Cause: jane changed StatefulSet manual (image manual:1 → manual:2) at TIME, trace ID.
Since TIME.
`},
		{Object: "statefulset/part", Text: `
StatefulSet part converged SOME ago, in SOME; slowest: SOME.
It keeps 2 of 3 Pods at the former revision: its partition is 2.
Cause: jane changed StatefulSet part (image part:1 → part:2) at TIME, trace ID.
Since TIME.
`},
	},
}

// statefulSet is the manifest of a StatefulSet with three Pods and that update strategy.
func statefulSet(name, strategy string) string {
	text := deployment(name, 3, "")
	text = strings.Replace(text, "kind: Deployment", "kind: StatefulSet", 1)
	return strings.Replace(text, "  replicas: 3\n", "  replicas: 3\n  updateStrategy: "+strategy+"\n", 1)
}
