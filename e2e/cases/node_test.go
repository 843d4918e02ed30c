// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/e2e/internal/cases"
)

// cordon is a rollout after another user has cordoned all nodes.
var cordon = cases.Case{
	Name: "cordon", Alone: true,
	Act: func(p *cases.Play) {
		for i := range 3 {
			node := fmt.Sprint("node-", i)
			p.As("jane", "cordon", node)
			p.AtEnd("uncordon", node)
		}
		p.Apply(deployment("plain", 1, ""))
	},
	Want: []cases.Answer{{Object: "deployment/plain", Code: 3, Text: `
Deployment plain has been stuck for SOME: Pod plain-… cannot be scheduled: 0/3 nodes are available: 3 node(s) were unschedulable.
Cause: admin created Deployment plain at TIME, trace ID.
Node node-2 was cordoned: jane changed Node node-2 (unschedulable <none> → true) at TIME, trace ID.
Since TIME.
Next: kubectl describe node
`}},
}

// label is a rollout after another user has removed the label that its Pods need.
var label = cases.Case{
	Name: "label", Alone: true,
	Act: func(p *cases.Play) {
		p.Kubectl("label", "node", "node-1", "disk=ssd")
		p.Apply(deployment("fast", 1, "      nodeSelector: {disk: ssd}\n"))
		p.Kubectl("rollout", "status", "deployment/fast")
		p.As("jane", "label", "node", "node-1", "disk-")
		p.Kubectl("rollout", "restart", "deployment/fast")
	},
	Want: []cases.Answer{{Object: "deployment/fast", Code: 3, Text: `
Deployment fast has been stuck for SOME: Pod fast-… cannot be scheduled: 0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.
Cause: admin changed Deployment fast (Pod annotation kubectl.kubernetes.io/restartedAt added) at TIME, trace ID.
Shortly before, Node node-1 got other labels: jane changed Node node-1 (label disk ssd → <none>) at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/fast-…
`}},
}

// quota is a scaling after another user has lowered the quota.
var quota = cases.Case{
	Name: "quota",
	Act: func(p *cases.Play) {
		p.Kubectl("create", "quota", "few", "--hard=pods=3")
		p.Apply(deployment("many", 1, ""))
		p.Kubectl("rollout", "status", "deployment/many")
		p.As("jane", "patch", "quota", "few", "--type=merge", "-p", `{"spec":{"hard":{"pods":"1"}}}`)
		p.Kubectl("wait", "--for=jsonpath={.status.hard.pods}=1", "resourcequota/few", "--timeout=4m")
		p.Kubectl("scale", "deployment/many", "--replicas=2")
	},
	Want: []cases.Answer{{Object: "deployment/many", Code: 3, Text: `
Deployment many has been stuck for SOME: ReplicaSet many-… cannot create its Pods: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1.
Cause: admin changed Deployment many (replicas 1 → 2) at TIME, trace ID.
Shortly before, ResourceQuota few got other limits: jane changed ResourceQuota few (hard.pods 3 → 1) at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe resourcequota
`}},
}
