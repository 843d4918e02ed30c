// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// badRevision is a scaling of a Deployment whose image does not exist. The change of the image is the cause.
var badRevision = cases.Case{
	Name:     "scaling of a bad revision",
	Manifest: deployment("shop", 1, ""),
	Act: func(p *cases.Play) {
		p.Kubectl("rollout", "status", "deployment/shop")
		p.As("jane", "patch", "deployment/shop", "-p", `{"spec":{"template":{`+
			`"metadata":{"annotations":{"lab.lifeline.dev/pull-error":"not found"}},`+
			`"spec":{"containers":[{"name":"app","image":"registry.example/shop:2","imagePullPolicy":"IfNotPresent"}]}}}}`)
		p.Expect(cases.Answer{Object: "deployment/shop", Code: 3, Text: `
Deployment shop has been stuck for SOME: Pod shop-… cannot pull image registry.example/shop:2 of container app: not found.
Cause: jane changed Deployment shop (image shop:1 → shop:2, Pod annotation lab.lifeline.dev/pull-error added and 1 more) at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/shop-…
`})
		p.As("joe", "scale", "deployment/shop", "--replicas=3")
	},
	Want: []cases.Answer{{Object: "deployment/shop", Code: 3, Text: `
Deployment shop has been stuck for SOME: Pod shop-… cannot pull image registry.example/shop:2 of container app: not found.
Cause: jane changed Deployment shop (image shop:1 → shop:2, Pod annotation lab.lifeline.dev/pull-error added and 1 more) at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/shop-…
`}},
}
