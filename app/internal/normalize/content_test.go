// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// TestContent: the content of a ConfigMap is in no observation, and masked in the messages of its owner.
func TestContent(t *testing.T) {
	const (
		object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n","uid":"c",
			"resourceVersion":"7","labels":{"a":"b"},"ownerReferences":[{"apiVersion":"example.com/v1",
			"kind":"X","name":"x","uid":"x","controller":true}],"managedFields":[{"manager":"m",
			"operation":"Update","apiVersion":"v1",
			"fieldsType":"FieldsV1","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:data":{"f:k":{}}}}]},
			"data":{"k":"a-value"}}`
		owner = `{"apiVersion":"example.com/v1","kind":"X","metadata":{"name":"x","namespace":"n","uid":"x",
			"resourceVersion":"8"},"status":{"conditions":[{"type":"Ready","message":"it uses a-value"}]}}`
	)
	n := New([KeySize]byte{1}, Settings{})
	got := n.Content(kind.ConfigMap.Kind, parse(t, object))
	m := new(metav1.PartialObjectMetadata)
	if err := json.Unmarshal([]byte(object), m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(New([KeySize]byte{1}, Settings{}).Metadata(kind.ConfigMap.Kind, m), got); diff != "" {
		t.Errorf("the content makes a difference: -metadata +whole:\n%s", diff)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "a-value") {
		t.Errorf("got %s, %v", text, err)
	}
	if said := n.Object(parse(t, owner)).Conditions[0].Message; said != "“it uses …”" {
		t.Errorf("the owner says %q", said)
	}
}
