// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// unknownScheduler is a Pod for a scheduler that does not run.
var unknownScheduler = cases.Case{
	Name: "unknown scheduler", Report: "gocrane/crane-scheduler#5",
	Manifest: deployment("solo", 1, "      schedulerName: crane-scheduler\n"),
	Want: []cases.Answer{{Object: "deployment/solo", Code: 3, Text: `
Deployment solo has been stuck for SOME: Pod solo-… waits for scheduler crane-scheduler, which does not react: no scheduler of that name seems to run.
Cause: admin created Deployment solo at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/solo-…
`}},
}

// missingNode is a Pod with the name of a node that does not exist.
var missingNode = cases.Case{
	Name: "missing node", Report: "kubernetes/kubernetes#114637",
	Manifest: deployment("pinned", 1, "      nodeName: node-99\n"),
	Want: []cases.Answer{{Object: "deployment/pinned", Code: 3, Text: `
Deployment pinned has been stuck for SOME: Pod pinned-… is assigned to node node-99, which does not exist.
Cause: admin created Deployment pinned at TIME, trace ID.
Since TIME.
Next: kubectl get node
`}},
}

// managedJob is a Job whose manager does not run.
var managedJob = cases.Case{
	Name: "managed Job", Report: "kubernetes-sigs/kueue#1787",
	Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec:
  managedBy: kueue.x-k8s.io/multikueue
  template:
    spec:
      restartPolicy: Never
      containers: [{name: report, image: "registry.example/report:1", imagePullPolicy: Never}]
`,
	Want: []cases.Answer{{Object: "job/report", Code: 3, Text: `
Job report has been stuck for SOME: it waits for kueue.x-k8s.io/multikueue, which manages it and has not begun; the built-in controller ignores it.
Cause: admin created Job report at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe job/report
`}},
}

// deadlock is a rollout whose new Pod fits on no node, because each node has a Pod of the former revision.
var deadlock = cases.Case{
	Name: "deadlock of a rollout",
	Manifest: deployment("solid", 3, "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
		"[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: solid}}}]}}\n"),
	Act: func(p *cases.Play) {
		p.Kubectl("rollout", "status", "deployment/solid")
		p.As("jane", "set", "image", "deployment/solid", "app=registry.example/solid:2")
	},
	Want: []cases.Answer{{Object: "deployment/solid", Code: 3, Text: `
Deployment solid has been stuck for SOME: Pod solid-… cannot be scheduled: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules; the rollout of Deployment solid cannot continue: its former Pods hold these nodes, and maxUnavailable 25% of 3 replicas is 0.
Cause: jane changed Deployment solid (image solid:1 → solid:2) at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/solid-…
`}},
}
