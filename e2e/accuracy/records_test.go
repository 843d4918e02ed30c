// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
)

const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: "1"}
`

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NS.example.com}
spec:
  group: NS.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// status writes a status as the controller of the Gateways does.
func (s *stage) status(object, status string) {
	s.t.Helper()
	s.MustKubectl(s.t, "", "-n", s.ns, "patch", object, "--subresource=status", "--type=merge",
		"--field-manager="+addon.GatewayController, "-p", `{"status":`+status+`}`)
}

// answered writes the status of the route web.
func (s *stage) answered(generation int, accepted, reason string) {
	s.t.Helper()
	s.status("httproute/web", addon.Answer(generation, accepted, reason))
}

// records are changes of objects that no controller reconciles, and of those that converge when others
// report on them.
var records = []scenario{
	{
		name: "A ConfigMap, by three people",
		play: func(s *stage) {
			s.apply(userA, settings)
			s.settle()
			s.as(userB, "patch", "configmap/settings", "-p", `{"data":{"level":"2"}}`)
			s.settle()
			s.as(userC, "delete", "configmap/settings")
		},
		want: []string{
			"user-a create ConfigMap settings converged",
			"user-b update ConfigMap settings converged",
			"user-c delete ConfigMap settings deleted",
		},
	},
	{
		name: "A role and its binding",
		play: func(s *stage) {
			s.as(userA, "create", "role", "reader", "--verb=get", "--resource=pods")
			s.as(userA, "create", "rolebinding", "reader", "--role=reader", "--user=nobody")
			s.settle()
			s.as(userB, "patch", "role/reader", "--type=json", "-p",
				`[{"op":"replace","path":"/rules/0/verbs","value":["get","list"]}]`)
		},
		want: []string{
			"user-a create Role reader converged",
			"user-a create RoleBinding reader converged",
			"user-b update Role reader converged",
		},
	},
	{
		name: "A quota and a disruption budget",
		play: func(s *stage) {
			s.as(userA, "create", "quota", "few", "--hard=pods=10")
			s.as(userA, "create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=1")
			s.settle()
			s.as(userB, "patch", "quota/few", "-p", `{"spec":{"hard":{"pods":"20"}}}`)
			s.as(userB, "patch", "poddisruptionbudget/web", "-p", `{"spec":{"minAvailable":2}}`)
		},
		want: []string{
			"user-a create ResourceQuota few converged",
			"user-a create PodDisruptionBudget web converged",
			"user-b update ResourceQuota few converged",
			"user-b update PodDisruptionBudget web converged",
		},
	},
	{
		name: "Two people cordon and uncordon a node",
		scenery: func(s *stage) {
			s.apply(userA, "apiVersion: v1\nkind: Node\nmetadata: {name: NS-node, labels: {of: NS}}\n")
			s.await("condition=Ready", "node/"+s.ns+"-node")
			s.settle()
		},
		play: func(s *stage) {
			for _, user := range []string{userA, userB} {
				s.as(user, "cordon", s.ns+"-node")
				s.settle()
				s.as(user, "uncordon", s.ns+"-node")
				s.settle()
			}
		},
		want: []string{
			"user-a update Node NS-node converged",
			"user-a update Node NS-node converged",
			"user-b update Node NS-node converged",
			"user-b update Node NS-node converged",
		},
	},
	{
		name: "A StorageClass",
		play: func(s *stage) {
			s.apply(
				userA,
				"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NS-fast}\nprovisioner: "+
					"example.com/fast\n",
			)
			s.settle()
			s.as(userB, "annotate", "storageclass/"+s.ns+"-fast", "note=b")
		},
		want: []string{
			"user-a create StorageClass NS-fast converged",
			"user-b update StorageClass NS-fast converged",
		},
	},
	{
		name: "A CustomResourceDefinition and its resources",
		play: func(s *stage) {
			s.apply(userA, widgets)
			s.await("condition=Established", "customresourcedefinition/widgets."+s.ns+".example.com")
			s.settle()
			time.Sleep(2 * time.Second) // a server finds new kinds once a second
			s.apply(userB, "apiVersion: NS.example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: 1}\n")
			s.settle()
			s.as(userC, "patch", "widget/one", "--type=merge", "-p", `{"spec":{"size":2}}`)
		},
		want: []string{
			"user-a create CustomResourceDefinition widgets.NS.example.com converged: create APIService",
			"user-b create Widget one converged",
			"user-c update Widget one converged",
		},
	},
	{
		// The second condition of the Gateway decides, and the conditions in the route's parents.
		name: "A Gateway and a route that it refuses at first",
		scenery: func(s *stage) {
			s.apply(userA, addon.GatewayAPI())
			for _, kind := range []string{"gateways", "httproutes"} {
				s.await("condition=Established", "customresourcedefinition/"+kind+".gateway.networking.k8s.io")
			}
			time.Sleep(2 * time.Second) // a server finds new kinds once a second
		},
		play: func(s *stage) {
			s.apply(userA, addon.Gateway)
			s.status("gateway/edge", `{"conditions":[`+addon.Condition("Accepted", 1, "True", "Accepted")+`]}`)
			s.settle()
			s.as(userB, "patch", "gateway/edge", "--type=merge", "-p", `{"spec":{"addresses":[{"value":"192.0.2.1"}]}}`)
			s.status("gateway/edge", `{"conditions":[`+addon.Condition("Accepted", 2, "True", "Accepted")+`,`+
				addon.Condition("Programmed", 2, "True", "Programmed")+`]}`)
			s.settle()
			s.apply(userB, addon.Route("other.example"))
			s.answered(1, "False", "NoMatchingListenerHostname")
			s.settle()
			s.apply(userC, addon.Route("web.example"))
			s.settle()
			s.answered(2, "True", "Accepted")
		},
		want: []string{
			"user-a create Gateway edge superseded",
			"user-b update Gateway edge converged",
			"user-b create HTTPRoute web superseded",
			"user-c update HTTPRoute web converged",
		},
	},
	{
		name: "A namespace is made, deleted and made again",
		play: func(s *stage) {
			inner := s.ns + "-x"
			s.as(userA, "create", "namespace", inner)
			s.AwaitDefaults(s.t, inner)
			s.settle()
			s.as(userB, "delete", "namespace", inner)
			s.as(userC, "create", "namespace", inner)
			s.AwaitDefaults(s.t, inner)
			s.settle()
			s.given(userA, solo, "apply", "-f", "-", "--namespace="+inner)
			s.MustKubectl(s.t, "", "-n", inner, "wait", "--for=condition=Ready", "pod/solo")
			s.settleIn(inner)
			s.as(userB, "delete", "pod/solo", "--namespace="+inner)
		},
		want: []string{
			"user-a create Namespace NS-x converged: create ConfigMap, create ServiceAccount",
			"user-b delete Namespace NS-x deleted: delete ConfigMap, delete ServiceAccount",
			"user-c create Namespace NS-x converged: create ConfigMap, create ServiceAccount",
			"user-a create Pod solo converged",
			"user-b delete Pod solo deleted",
		},
	},
	{
		name: "A load balancer gets its address later",
		play: func(s *stage) {
			s.as(userA, "create", "service", "loadbalancer", "front", "--tcp=80")
			time.Sleep(4 * time.Second) // the cloud takes its time
			s.as(userC, "patch", "service/front", "--subresource=status", "-p",
				`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
		},
		want: []string{"user-a create Service front converged: create EndpointSlice"},
	},
	{
		name: "An Ingress gets its address later",
		play: func(s *stage) {
			s.as(userA, "create", "ingress", "front", "--rule=example.com/*=front:80")
			time.Sleep(4 * time.Second)
			s.as(userC, "patch", "ingress/front", "--subresource=status", "--type=merge", "-p",
				`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
		},
		want: []string{"user-a create Ingress front converged"},
	},
	{
		name:    "A Service of running Pods is created, scaled and deleted",
		scenery: one,
		play: func(s *stage) {
			s.as(userB, "expose", "deployment/web", "--port=80")
			s.settle()
			s.as(userC, "scale", "deployment/web", "--replicas=2")
			s.settle()
			s.as(userA, "delete", "service/web")
		},
		want: []string{
			"user-b create Service web converged: create EndpointSlice",
			"user-c update Deployment web converged: create Pod, update ReplicaSet",
			"user-a delete Service web deleted: delete EndpointSlice",
		},
	},
	{
		name: "A slice of endpoints is written by hand",
		play: func(s *stage) {
			s.apply(userA, slice("192.0.2.1"))
			s.settle()
			s.apply(userB, slice("192.0.2.2"))
		},
		want: []string{
			"user-a create EndpointSlice outside converged",
			"user-b update EndpointSlice outside converged",
		},
	},
	{
		name: "An object with a finalizer",
		scenery: func(s *stage) {
			s.apply(userA, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/hold]}\n")
			s.settle()
		},
		play: func(s *stage) {
			s.as(userB, "delete", "configmap/held", "--wait=false")
			s.settle()
			s.as(userC, "patch", "configmap/held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		},
		want: []string{"user-b delete ConfigMap held deleted"},
	},
	{
		name: "An owner that is no controller",
		play: func(s *stage) {
			s.apply(userA, settings)
			uid := s.MustKubectl(s.t, "", "-n", s.ns, "get", "configmap/settings", "-o", "jsonpath={.metadata.uid}")
			s.settle()
			s.apply(userB, `apiVersion: v1
kind: ConfigMap
metadata:
  name: copy
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: `+uid+`}]
`)
			s.settle()
			s.as(userC, "delete", "configmap/settings")
			s.await("delete", "configmap/copy")
		},
		want: []string{
			"user-a create ConfigMap settings converged",
			"user-b create ConfigMap copy converged",
			"user-c delete ConfigMap settings deleted: delete ConfigMap",
		},
	},
	{
		name: "Three objects in one manifest",
		play: func(s *stage) {
			s.apply(userA, web(1, 1)+"---\n"+settings+`---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`)
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a create Deployment web converged: create Pod, create ReplicaSet",
			"user-a create ConfigMap settings converged",
			"user-a create Service web converged: create EndpointSlice",
		},
	},
	{
		name: "A namespace with a workload is deleted",
		scenery: func(s *stage) {
			inner := s.ns + "-x"
			s.as(userA, "create", "namespace", inner)
			s.given(userA, web(1, 1), "apply", "-f", "-", "--namespace="+inner)
			s.MustKubectl(s.t, "", "-n", inner, "rollout", "status", "deployment/web")
			s.settleIn(inner)
		},
		play: func(s *stage) { s.as(userB, "delete", "namespace", s.ns+"-x") },
		want: []string{
			"user-b delete Namespace NS-x deleted: delete ConfigMap, delete Deployment, delete Pod, " +
				"delete ReplicaSet, delete ServiceAccount",
		},
	},
	{
		name:    "Three changes of a ConfigMap in one second",
		scenery: func(s *stage) { s.apply(userA, settings); s.settle() },
		play: func(s *stage) {
			for _, level := range []string{"2", "3", "4"} {
				s.as(userB, "patch", "configmap/settings", "-p", `{"data":{"level":"`+level+`"}}`)
			}
		},
		want: []string{
			"user-b update ConfigMap settings converged",
			"user-b update ConfigMap settings converged",
			"user-b update ConfigMap settings converged",
		},
	},
	{
		name: "A Service is changed",
		play: func(s *stage) {
			s.as(userA, "create", "service", "clusterip", "front", "--tcp=80")
			s.settle()
			s.as(userB, "set", "selector", "service/front", "app=other")
		},
		want: []string{
			"user-a create Service front converged: create EndpointSlice",
			"user-b update Service front converged",
		},
	},
	{
		name: "A network policy",
		play: func(s *stage) {
			s.apply(
				userA,
				"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny}\nspec: "+
					"{podSelector: {}}\n",
			)
			s.settle()
			s.as(userB, "patch", "networkpolicy/deny", "-p", `{"spec":{"policyTypes":["Ingress","Egress"]}}`)
		},
		want: []string{
			"user-a create NetworkPolicy deny converged",
			"user-b update NetworkPolicy deny converged",
		},
	},
	{
		name: "Two Deployments, by two people at once",
		scenery: func(s *stage) {
			s.apply(userA, web(1, 1))
			s.apply(userA, strings.ReplaceAll(web(1, 1), "web", "shop"))
			s.rolled("deployment/web")
			s.rolled("deployment/shop")
		},
		play: func(s *stage) {
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.as(userB, "set", "image", "deployment/shop", "app=registry.example/shop:2")
			s.rolled("deployment/web")
			s.rolled("deployment/shop")
		},
		want: []string{
			"user-a update Deployment web converged" + rollout,
			"user-b update Deployment shop converged" + rollout,
		},
	},
}

// slice is the manifest of an EndpointSlice without a Service.
func slice(address string) string {
	return fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: outside}
addressType: IPv4
endpoints: [{addresses: [%s]}]
ports: [{port: 80}]
`, address)
}
