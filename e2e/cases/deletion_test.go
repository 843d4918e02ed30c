// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/kube-lifeline/lifeline/e2e/internal/cases"

// claimInUse is the deletion of a claim while a Pod uses it.
var claimInUse = cases.Case{
	Name: "claim in use", Report: "kubernetes/kubernetes#61214",
	Manifest: `
apiVersion: v1
kind: PersistentVolume
metadata: {name: NS}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: NS
  hostPath: {path: /tmp/none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: NS
  resources: {requests: {storage: 1Gi}}
---
` + deployment("store", 1, "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"),
	Act: func(p *cases.Play) {
		p.AtEnd("delete", "persistentvolume/NS", "--wait=false")
		p.Kubectl("rollout", "status", "deployment/store")
		p.As("jane", "delete", "persistentvolumeclaim/data", "--wait=false")
	},
	Want: []cases.Answer{{Object: "persistentvolumeclaim/data", Code: 3, Text: `
PersistentVolumeClaim data has been stuck for SOME: it waits for the end of Pod store-…, which uses it.
Cause: jane deleted PersistentVolumeClaim data at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe pod/store-…
`}},
}

// keptDependant is a foreground deletion that waits for a dependant with a finalizer.
var keptDependant = cases.Case{
	Name: "dependant with a finalizer",
	Manifest: `
apiVersion: v1
kind: ConfigMap
metadata: {name: parent}
`,
	Act: func(p *cases.Play) {
		uid := p.Kubectl("get", "configmap/parent", "-o", "jsonpath={.metadata.uid}")
		p.Apply(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  finalizers: [example.com/keep]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: parent, uid: ` + uid + `, blockOwnerDeletion: true}]
`)
		p.AtEnd("-n", "NS", "patch", "configmap/child", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		p.As("jane", "delete", "configmap/parent", "--cascade=foreground", "--wait=false")
	},
	Want: []cases.Answer{{Object: "configmap/parent", Code: 3, Text: `
ConfigMap parent has been stuck for SOME: ConfigMap child waits for finalizer example.com/keep, which kubectl-client-side-apply has set.
Cause: jane deleted ConfigMap parent at TIME, trace ID.
Since TIME.
Next: kubectl -n NS get configmap/child -o yaml
`}},
}

// keptDefinition is the deletion of a custom kind with an object that has a finalizer.
var keptDefinition = cases.Case{
	Name: "definition of an object with a finalizer",
	Manifest: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.NS.example.com}
spec:
  group: NS.example.com
  names: {kind: Gear, plural: gears}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`,
	Act: func(p *cases.Play) {
		p.Kubectl("wait", "--for=condition=Established", "customresourcedefinition/gears.NS.example.com")
		p.Apply("{apiVersion: NS.example.com/v1, kind: Gear, metadata: {name: one, finalizers: [example.com/keep]}}")
		p.AtEnd("-n", "NS", "patch", "gears.NS.example.com/one", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		p.As("jane", "delete", "customresourcedefinition/gears.NS.example.com", "--wait=false")
	},
	Want: []cases.Answer{{Object: "customresourcedefinition/gears.NS.example.com", Code: 3, Text: `
CustomResourceDefinition gears.NS.example.com has been stuck for SOME: it waits for the deletion of Gear NS/one, which waits for finalizer example.com/keep.
Cause: jane deleted CustomResourceDefinition gears.NS.example.com at TIME, trace ID.
Since TIME.
Next: kubectl -n NS describe gear.NS.example.com/one
`}},
}

// staleAPI is the deletion of a Namespace while an aggregated API does not answer.
var staleAPI = cases.Case{
	Name: "stale API", Report: "kubernetes/kubernetes#75788",
	Manifest: `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.NS.example.com}
spec:
  group: NS.example.com
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: adapter, namespace: metrics}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`,
	Act: func(p *cases.Play) {
		p.AtEnd("delete", "apiservice/v1beta1.NS.example.com")
		p.Kubectl("wait", "--for=condition=Available=False", "apiservice/v1beta1.NS.example.com")
		p.As("jane", "delete", "namespace/NS", "--wait=false")
	},
	Want: []cases.Answer{{Object: "namespace/NS", Code: 3, Text: `
Namespace NS has been stuck for SOME: it waits for API NS.example.com/v1beta1, which does not answer; its other content is already deleted.
Cause: jane deleted Namespace NS at TIME, trace ID.
Since TIME.
Next: kubectl get apiservice
`}},
}
