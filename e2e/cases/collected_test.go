// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// collected is an object with an owner that does not exist.
var collected = cases.Case{
	Name: "removed by the garbage collector", Report: "kubernetes/kubernetes#65200",
	Manifest: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: parent, uid: 462735cb-c5fd-4c53-9f4e-e9c10e649883}]
`,
	Want: []cases.Answer{{Object: "configmap/child", Text: `
ConfigMap child was removed by the garbage collector SOME ago: its owner ConfigMap parent does not exist. Before, it had converged.
Cause: system:serviceaccount:kube-system:generic-garbage-collector deleted ConfigMap child at TIME, trace ID.
`}},
}
