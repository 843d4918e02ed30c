// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// shop is the manifest of a Shop.
func shop(version int) string {
	return fmt.Sprintf(`apiVersion: NS.example.com/v1
kind: Shop
metadata: {name: one}
spec: {version: %d}
`, version)
}

// databaseGroup is the group of the kind Database, which the configuration of the servers names.
const databaseGroup = "accuracy.example.com"

// declared are the relations of the servers' configuration.
const declared = `relations:
- name: deployment-of-database
  from: {group: ` + databaseGroup + `, kind: Database}
  to: {group: apps, kind: Deployment}
  match: >-
    to.metadata.labels['example.com/of'] == from.metadata.name &&
    to.metadata.namespace == from.metadata.namespace
- name: settings-of-database
  from: {group: ` + databaseGroup + `, kind: Database}
  to: {group: "", kind: ConfigMap}
  match: >-
    to.metadata.labels['example.com/of'] == from.metadata.name &&
    to.metadata.namespace == from.metadata.namespace
`

// database is the manifest of a Database with the operator's finalizer.
func database(version int) string {
	return fmt.Sprintf(`apiVersion: %s/v1
kind: Database
metadata: {name: one, finalizers: [%s]}
spec: {version: %d}
`, databaseGroup, hold, version)
}

// shopping is the scenery of an operator of Shops.
func shopping(op operator) func(*stage) {
	return func(s *stage) {
		s.define(harness.CustomKind("Shop", s.ns+".example.com"), "shops."+s.ns+".example.com")
		op := op
		s.operate(schema.GroupVersionResource{Group: s.ns + ".example.com", Version: "v1", Resource: "shops"}, &op)
	}
}

// define makes a kind and waits until the servers know it.
func (s *stage) define(manifest, name string) {
	s.t.Helper()
	s.apply(userA, manifest)
	s.await("condition=Established", "customresourcedefinition/"+name)
	time.Sleep(2 * time.Second) // a server finds new kinds once a second
}

// rolledTo waits for the rollout of the Deployment of a custom object with that version.
func (s *stage) rolledTo(version int) {
	s.t.Helper()
	s.await("create", "deployment/one")
	s.await(fmt.Sprintf(`jsonpath={.spec.template.metadata.annotations.image}=registry.example/shop:%d`, version),
		"deployment/one")
	s.rolled("deployment/one")
}

// slowly is a delay beyond the quiet time of a server, after which a trace settles.
const slowly = 8 * time.Second

// lifeOfShop is a creation, a change and a deletion of a Shop by three people.
func lifeOfShop(s *stage) {
	s.apply(userA, shop(1))
	s.rolledTo(1)
	s.apply(userB, shop(2))
	s.rolledTo(2)
	s.as(userC, "delete", "shops."+s.ns+".example.com", "one") // other scenarios have Shops, too
	s.await("delete", "deployment/one")
}

// wantOfShop are the changes of lifeOfShop: all effects of a change are in its trace.
var wantOfShop = []string{
	"user-a create Shop one converged: create ConfigMap, create Deployment, create Pod, create ReplicaSet",
	"user-b update Shop one converged: create Pod, create ReplicaSet, delete Pod, " +
		"update ConfigMap, update Deployment, update ReplicaSet",
	"user-c delete Shop one deleted: delete ConfigMap, delete Deployment, delete Pod, delete ReplicaSet ×2",
}

// customKinds are changes of custom resources with an operator.
var customKinds = []scenario{
	{
		name:    "An operator that reports the observed generation",
		scenery: shopping(operator{report: observing}),
		play:    lifeOfShop,
		want:    wantOfShop,
	},
	{
		name:    "An operator that reports a phase only",
		scenery: shopping(operator{report: inPhases}),
		play:    lifeOfShop,
		want:    wantOfShop,
	},
	{
		name:    "An operator that reports nothing",
		scenery: shopping(operator{}),
		play:    lifeOfShop,
		want:    wantOfShop,
	},
	{
		name:    "A slow operator that reports the observed generation",
		scenery: shopping(operator{report: observing, delay: slowly}),
		play:    lifeOfShop,
		want:    wantOfShop,
	},
	{
		name:    "A slow operator that reports nothing",
		scenery: shopping(operator{delay: slowly}),
		play:    lifeOfShop,
		want:    wantOfShop,
	},
	{
		name: "Somebody else deletes and changes an operator's children",
		scenery: func(s *stage) {
			shopping(operator{report: observing})(s)
			s.apply(userA, shop(1))
			s.rolledTo(1)
		},
		play: func(s *stage) {
			s.as(userB, "delete", "configmap/one")
			s.await("create", "configmap/one")
			s.settle()
			s.as(userC, "patch", "configmap/one", "-p", `{"data":{"version":"7"}}`)
			s.await("jsonpath={.data.version}=1", "configmap/one")
		},
		want: []string{
			"user-b delete ConfigMap one deleted",
			operatorName + " create ConfigMap one converged",
			"user-c update ConfigMap one converged",
			operatorName + " update ConfigMap one converged",
		},
	},
	{
		name: "An operator whose children have no owner, by a declared relation",
		scenery: func(s *stage) {
			s.define(harness.CustomKind("Database", databaseGroup), "databases."+databaseGroup)
			s.operate(schema.GroupVersionResource{Group: databaseGroup, Version: "v1", Resource: "databases"},
				&operator{report: observing, labelled: true})
		},
		play: func(s *stage) {
			s.apply(userA, database(1))
			s.rolledTo(1)
			s.apply(userB, database(2))
			s.rolledTo(2)
			s.as(userC, "delete", "databases."+databaseGroup, "one")
		},
		want: []string{
			"user-a create Database one converged: create ConfigMap, create Deployment, create Pod, create ReplicaSet",
			"user-b update Database one converged: create Pod, create ReplicaSet, delete Pod, " +
				"update ConfigMap, update Deployment, update ReplicaSet",
			"user-c delete Database one deleted: delete ConfigMap, delete Deployment, delete Pod, delete ReplicaSet ×2",
		},
	},
}
