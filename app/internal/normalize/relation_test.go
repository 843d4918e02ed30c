// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

func TestRelations(t *testing.T) {
	pod := func(name string) object.Name { return object.Name{Kind: name, Namespace: "shop"} }
	named := func(of object.Name, name string) object.Name { of.Name = name; return of }
	cases := map[string]struct {
		reason, object string
		want           []object.Relation
	}{
		"autoscaler": {
			reason: "a reference names its kind",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler,
  spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
			want: []object.Relation{
				{
					Type: object.Target,
					To:   object.Name{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
				},
			},
		},
		"claim": {
			reason: "volumes and classes have no namespace",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: pv-1, storageClassName: fast}}`,
			want: []object.Relation{
				{Type: object.Class, To: object.Name{Group: "storage.k8s.io", Kind: "StorageClass", Name: "fast"}},
				{Type: object.Volume, To: object.Name{Kind: "PersistentVolume", Name: "pv-1"}},
			},
		},
		"mutating policy": {
			reason: "it may change new Pods",
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [""], operations: [CREATE], resources: [pods]}]}}}`,
			want: []object.Relation{{Type: object.Mutates, To: object.Name{Kind: "New", Name: "pods"}}},
		},
		"binding of a policy": {
			reason: "a policy without one does nothing",
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding,
  spec: {policyName: mirror}}`,
			want: []object.Relation{{Type: object.Mutates, To: object.Name{
				Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy", Name: "mirror",
			}}},
		},
		"mutating webhooks": {
			reason: "one of them may change new Pods",
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [
  {name: a.example.com, rules: [{apiGroups: [apps], operations: ["*"], resources: ["*"]}]},
  {name: b.example.com, rules: [{apiGroups: ["*"], operations: ["*"], resources: ["*/*"]}]}]}`,
			want: []object.Relation{{Type: object.Mutates, To: object.Name{Kind: "New", Name: "pods"}}},
		},
		"other webhooks": {
			reason: "they see no new Pod, or change annotations only",
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [
  {name: a.example.com, rules: [{apiGroups: [""], operations: [UPDATE], resources: [pods]}]},
  {name: b.webhook.lifeline.dev, rules: [{apiGroups: ["*"], operations: ["*"], resources: ["*"]}]}]}`,
		},
		"DaemonSet's Pod": {
			reason: "a field with one Node leaves no other",
			object: `{apiVersion: v1, kind: Pod, spec: {affinity: {nodeAffinity: {
  requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}}}`,
			want: []object.Relation{{Type: object.Placed, To: object.Name{Kind: "Node", Name: "node-1"}}},
		},
		"Pod of some Nodes": {
			reason: "it was not made for one of them",
			object: `{apiVersion: v1, kind: Pod, spec: {affinity: {nodeAffinity: {
  requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchFields: [{key: metadata.name, operator: In, values: [node-1, node-2]}]},
    {matchFields: [{key: metadata.name, operator: NotIn, values: [node-3]}]}]}}}}}`,
		},
		"route": {
			reason: "a Gateway and a Service are the default kinds",
			object: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {
  parentRefs: [{name: edge}, {name: shared, namespace: infra}, {group: "", kind: Service, name: mesh}],
  rules: [{backendRefs: [{name: web, port: 80}, {group: example.com, kind: Bucket, name: files}]}]}}`,
			want: []object.Relation{
				{Type: object.Attached, To: object.Name{
					Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "infra", Name: "shared",
				}},
				{Type: object.Attached, To: object.Name{
					Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "shop", Name: "edge",
				}},
				{Type: object.Attached, To: named(pod("Service"), "mesh")},
				{Type: object.Backend, To: object.Name{
					Group: "example.com", Kind: "Bucket", Namespace: "shop", Name: "files",
				}},
				{Type: object.Backend, To: named(pod("Service"), "web")},
			},
		},
		"Ingress": {
			reason: "a port of a Service has a number or a name",
			object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {
  defaultBackend: {service: {name: web, port: {number: 80}}},
  rules: [{http: {paths: [{backend: {service: {name: api, port: {name: http}}}}, {backend: {resource: {}}}]}}]}}`,
			want: []object.Relation{
				{Type: object.Backend, To: named(pod("Service"), "api")},
				{Type: object.Backend, To: named(pod("Service"), "web")},
				{Type: object.Port, To: named(pod("Service"), "api:http")},
				{Type: object.Port, To: named(pod("Service"), "web:80")},
			},
		},
		"StatefulSet": {
			reason: "the names of its claims begin with the template and the set",
			object: `{apiVersion: apps/v1, kind: StatefulSet, spec: {volumeClaimTemplates: [{metadata: {name: ` +
				`data}}]}}`,
			want: []object.Relation{{Type: object.Claim, To: named(pod("PersistentVolumeClaim"), "data-x-*")}},
		},
		"configuration": {
			reason: "each ConfigMap and Secret of a template counts once",
			object: `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {
  initContainers: [{env: [{valueFrom: {secretKeyRef: {name: token, key: k}}}]}],
  containers: [{envFrom: [{configMapRef: {name: env}}]},
    {envFrom: [{configMapRef: {name: env}}, {secretRef: {name: pass}}]}],
  volumes: [{configMap: {name: files}}, {secret: {secretName: certs}},
    {projected: {sources: [{configMap: {name: more}}, {serviceAccountToken: {}}]}}, {emptyDir: {}}]}}}}`,
			want: []object.Relation{
				{Type: object.Config, To: named(pod("ConfigMap"), "env")},
				{Type: object.Config, To: named(pod("ConfigMap"), "files")},
				{Type: object.Config, To: named(pod("ConfigMap"), "more")},
				{Type: object.Config, To: named(pod("Secret"), "certs")},
				{Type: object.Config, To: named(pod("Secret"), "pass")},
				{Type: object.Config, To: named(pod("Secret"), "token")},
			},
		},
		"nothing": {reason: "no field, no relation", object: `{apiVersion: apps/v1, kind: Deployment}`},
		"another shape": {
			reason: "fields of another type are ignored",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: [web]}}`,
		},
		"without a kind": {
			reason: "a reference without a kind names nothing",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {name: web}}}`,
		},
		"many": {
			reason: "the number is bounded",
			object: `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [` +
				many(maxRelations+1) + `]}}}}`,
			want: manyOf(named, pod("ConfigMap"), maxRelations),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tc.object), &u.Object); err != nil {
				t.Fatal(err)
			}
			u.SetNamespace("shop")
			u.SetName("x")
			u.SetUID("u")
			u.SetResourceVersion("1")
			got := New(NewKey(), Settings{}).Object(u).Relations
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func many(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("{configMap: {name: c%03d}}", i)
	}
	return strings.Join(all, ", ")
}

func manyOf(named func(object.Name, string) object.Name, of object.Name, n int) []object.Relation {
	all := make([]object.Relation, n)
	for i := range all {
		all[i] = object.Relation{Type: object.Config, To: named(of, fmt.Sprintf("c%03d", i))}
	}
	return all
}
