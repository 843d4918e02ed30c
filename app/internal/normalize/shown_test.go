// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestShown keeps the values of the fields of the list and of the setting, and no others.
func TestShown(t *testing.T) {
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	n := New([KeySize]byte{1}, Settings{Shown: map[schema.GroupKind][]string{
		widget:     {"spec.size", "spec.parts.image", "metadata.annotations"},
		deployment: {"spec.minReadySeconds"},
	}})
	const meta = `"metadata":{"uid":"u","name":"a","resourceVersion":"1","labels":{"team":"shop"},"annotations":{
		"note":"blue","kubectl.kubernetes.io/last-applied-configuration":"{\"secret\":1}","lines":"a\nb"}}`
	for name, c := range map[string]struct{ object, want string }{
		"a kind of the list": {
			`{"apiVersion":"apps/v1","kind":"Deployment",` + meta + `,"spec":{"replicas":3,"paused":true,
			"minReadySeconds":5,"revisionHistoryLimit":2,
			"template":{"spec":{"containers":[{"name":"web","image":"web:1","args":["--key=x"],
			"env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1"}}}]}}}}`,
			"metadata.labels.team=shop spec.minReadySeconds=5 spec.paused=true spec.replicas=3 " +
				"spec.template.spec.containers[name=web].image=web:1 " +
				"spec.template.spec.containers[name=web].resources.limits.cpu=1",
		},
		"a kind of the setting": {
			`{"apiVersion":"example.com/v1","kind":"Widget",` + meta + `,"spec":{"size":2,"token":"x",
			"parts":[{"name":"a","image":"a:1","key":"y"}]}}`,
			"metadata.annotations.note=blue spec.parts[name=a].image=a:1 spec.size=2",
		},
		"another kind": {
			`{"apiVersion":"example.com/v1","kind":"Gadget",` + meta + `,"spec":{"size":2,"replicas":1}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range n.Object(parse(t, c.object)).Leaves {
				if l.Shown != "" {
					got = append(got, l.Path+"="+l.Shown)
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}
