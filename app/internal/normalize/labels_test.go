// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestLabels keeps the labels with the keys of the setting, bounded, and none of a Secret.
func TestLabels(t *testing.T) {
	n := New([KeySize]byte{1}, Settings{Labels: []string{"tier", "app", "absent", "number"}})
	s := n.Object(parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"uid":"u","name":"a","resourceVersion":"1",
		"labels":{"app":"web","other":"x","number":3,"tier":"`+strings.Repeat("x", 5000)+`"}}}`))
	if len(s.Labels) != 2 || len(s.Labels[1].Value) > 1024 {
		t.Fatalf("%d labels", len(s.Labels))
	}
	s.Labels[1].Value = s.Labels[1].Value[:1]
	if d := cmp.Diff([]object.Label{{Key: "app", Value: "web"}, {Key: "tier", Value: "x"}}, s.Labels); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Name: "a", ResourceVersion: "1", Labels: map[string]string{"app": "web"},
	}}
	if s := n.Metadata(kind.Secret.Kind, secret); len(s.Labels) > 0 {
		t.Errorf("labels of a Secret: %v", s.Labels)
	}
}
