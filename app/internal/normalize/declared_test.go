// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
)

// declaring returns a Normalizer with relations between the kinds.
func declaring(t *testing.T, from, to schema.GroupKind, matches ...string) *Normalizer {
	t.Helper()
	var all []relation.Declaration
	for i, match := range matches {
		all = append(all, relation.Declaration{Name: string(rune('a' + i)), From: from, To: to, Match: match})
	}
	set, err := relation.NewSet(all)
	if err != nil {
		t.Fatal(err)
	}
	return New([KeySize]byte{1}, Settings{Relations: set})
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetUID("u")
	u.SetResourceVersion("1")
	return u
}

func TestDeclaredKeys(t *testing.T) {
	n := declaring(
		t,
		schema.GroupKind{Group: "example.com", Kind: "Database"},
		schema.GroupKind{Kind: "PersistentVolumeClaim"},
		"to.metadata.labels['example.com/db'] == from.metadata.name && to.metadata.namespace == "+
			"from.metadata.namespace",
		"from.spec.port == to.spec.port",
	)
	cause := n.Object(decoded(t, `{apiVersion: example.com/v1, kind: Database, metadata: {name: main, namespace: a},
		spec: {port: 80, password: hunter2}}`))
	effect := n.Object(decoded(t, `{apiVersion: v1, kind: PersistentVolumeClaim,
		metadata: {name: data-0, namespace: a, labels: {example.com/db: main}},
		spec: {storageClassName: fast, volumeName: v, port: 80.0}}`))
	var keys []object.Name
	for _, r := range cause.Relations {
		if r.Type != object.Cause {
			t.Errorf("got %v of a cause", r)
		}
		keys = append(keys, r.To)
	}
	var same []object.Name
	types := map[object.RelationType]int{}
	for _, r := range effect.Relations {
		if types[r.Type]++; r.Type == object.Effect {
			same = append(same, r.To)
		}
	}
	if diff := cmp.Diff(keys, same); diff != "" || len(keys) != 2 {
		t.Errorf("-cause +effect:\n%s", diff)
	}
	if types[object.Volume] != 1 || types[object.Class] != 1 {
		t.Errorf("the other relations are lost: %v", effect.Relations)
	}
	for _, of := range [][]object.Name{keys, same} {
		if text, _ := json.Marshal(of); strings.Contains(string(text), "main") || strings.Contains(string(text), "80") {
			t.Errorf("a key reveals a value: %s", text)
		}
	}
	other := declaring(t, schema.GroupKind{Group: "example.com", Kind: "Database"}, schema.GroupKind{Kind: "Pod"},
		"from.spec.port == to.spec.port")
	other.k0++
	again := other.Object(
		decoded(t, `{apiVersion: example.com/v1, kind: Database, metadata: {name: main}, spec: {port: 80}}`),
	)
	if len(again.Relations) != 1 || again.Relations[0].To.Name == keys[1].Name {
		t.Errorf("the digest does not depend on the key: %v", again.Relations)
	}
}

// TestConfidentialContent: no expression reads the content of a Secret or ConfigMap.
func TestConfidentialContent(t *testing.T) {
	reads := []string{
		"to.data.password == from.metadata.name", "to['data']['password'] == from.metadata.name",
		"string(has(to.data)) == 'true' && to.metadata.name == from.metadata.name",
		"to.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] == from.metadata.name",
		"string(size(to.metadata.managedFields)) == from.metadata.name",
	}
	database := schema.GroupKind{Group: "example.com", Kind: "Database"}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		n := declaring(
			t,
			database,
			schema.GroupKind{Kind: kind},
			append(reads, "to.metadata.labels.app == from.metadata.name")...)
		whole := n.Object(decoded(t, `{apiVersion: v1, kind: `+kind+`, data: {password: hunter2}, metadata: {name: x,
			labels: {app: main}, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2},
			managedFields: [{manager: a}]}}`))
		data, err := os.ReadFile("testdata/secret.json")
		if err != nil {
			t.Fatal(err)
		}
		var m metav1.PartialObjectMetadata
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		m.Labels = map[string]string{"app": "main"}
		m.Annotations = map[string]string{lastApplied: "hunter2"}
		partial := n.Metadata(object.Kind{Version: "v1", Kind: kind}, &m)
		for _, got := range [][]object.Relation{whole.Relations, partial.Relations} {
			if len(got) != 1 || got[0].To.Namespace != string(rune('a'+len(reads))) {
				t.Errorf("%s: expressions read more than the metadata: %v", kind, got)
			}
		}
	}
}
