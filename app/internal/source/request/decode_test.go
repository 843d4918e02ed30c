// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"

	"github.com/kube-lifeline/lifeline/internal/message"
)

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   Body
	}{
		"object": {
			reason: "names, versions and owners are read",
			text: `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{
				"name":"web-5","namespace":"shop","uid":"u1","resourceVersion":"42","generation":3,
				"labels":{"name":"no"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"u0"},
				{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u2","controller":true}]},
				"spec":{"metadata":{"name":"no"},"kind":"no"}}`,
			want: Body{APIVersion: "apps/v1", Kind: "ReplicaSet", Metadata: Metadata{
				Name:            "web-5",
				Namespace:       "shop",
				UID:             "u1",
				ResourceVersion: "42",
				Generation:      3,
				Controller: &object.Owner{
					Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
					Name:       "web",
					UID:        "u2",
					Controller: true,
				},
			}},
		},
		"core owner": {
			reason: "the core group has no name",
			text: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u",` +
				`"controller":true}]}}`,
			want: Body{Metadata: Metadata{Controller: &object.Owner{
				Kind: object.Kind{Version: "v1", Kind: "Node"}, Name: "n", UID: "u", Controller: true,
			}}},
		},
		"no controller": {
			reason: "an owner without controller: true is ignored",
			text:   `{"metadata":{"ownerReferences":[{"kind":"Node","name":"n","uid":"u","controller":false}]}}`,
		},
		"generated": {
			reason: "the object has no name yet",
			text:   `{"kind":"Pod","metadata":{"generateName":"web-"}}`,
			want:   Body{Kind: "Pod", Metadata: Metadata{GenerateName: "web-"}},
		},
		"deleting": {
			reason: "grace period and finalizers are read",
			text: `{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z",` +
				`"deletionGracePeriodSeconds":30,"finalizers":["a/b","c/d"]}}`,
			want: Body{Metadata: Metadata{Name: "a", Deleting: true, GraceSeconds: 30, Finalizers: 2}},
		},
		"namespace": {
			reason: "a Namespace has finalizers in its spec, too",
			text: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a","finalizers":["a/b"],` +
				`"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"finalizers":["kubernetes","c/d"]}}`,
			want: Body{
				APIVersion: "v1", Kind: "Namespace", Metadata: Metadata{Name: "a", Deleting: true, Finalizers: 3},
			},
		},
		"namespace, kind last": {
			reason: "order does not matter",
			text: `{"spec":{"finalizers":["kubernetes"]},"metadata":{"name":"a"},"apiVersion":"v1",` +
				`"kind":"Namespace"}`,
			want: Body{APIVersion: "v1", Kind: "Namespace", Metadata: Metadata{Name: "a", Finalizers: 1}},
		},
		"another's finalizers": {
			reason: "in other kinds such a field has another meaning",
			text: `{"apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"finalizers":["x"]},` +
				`"kind":"Namespace"}`,
			want: Body{APIVersion: "example.com/v1", Kind: "Namespace", Metadata: Metadata{Name: "a"}},
		},
		"not deleting": {
			reason: "a null deletionTimestamp means not deleted",
			text:   `{"metadata":{"name":"a","deletionTimestamp":null,"finalizers":[]}}`,
			want:   Body{Metadata: Metadata{Name: "a"}},
		},
		"list": {
			reason: "items may omit apiVersion and kind",
			text: `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"9"},` +
				`"items":[{"metadata":{"name":"a"}},{"apiVersion":"v2","kind":"Other","metadata":{"uid":"u"}}]}`,
			want: Body{APIVersion: "v1", Kind: "PodList", Metadata: Metadata{ResourceVersion: "9"}, Items: []Body{
				{
					APIVersion: "v1",
					Kind:       "Pod",
					Metadata:   Metadata{Name: "a"},
				},
				{APIVersion: "v2", Kind: "Other", Metadata: Metadata{UID: "u"}},
			}},
		},
		"list of others": {
			reason: "elements without a name are dropped",
			text:   `{"kind":"List","items":[{},1,null,"a",[],{"metadata":{}},{"metadata":{"name":"a"}}]}`,
			want:   Body{Kind: "List", Items: []Body{{Metadata: Metadata{Name: "a"}}}},
		},
		"list in a list": {
			reason: "a list in a list is ignored",
			text:   `{"kind":"List","items":[{"metadata":{"name":"a"},"items":[{"metadata":{"name":"b"}}]}]}`,
			want:   Body{Kind: "List", Items: []Body{{Metadata: Metadata{Name: "a"}}}},
		},
		"table": {
			reason: "the objects of rows are items",
			text: `{"kind":"Table","rows":[{"cells":["a"],"object":{"kind":"PartialObjectMetadata",` +
				`"metadata":{"name":"a","uid":"u"}}},{"cells":["b"]}]}`,
			want: Body{
				Kind:  "Table",
				Items: []Body{{Kind: "PartialObjectMetadata", Metadata: Metadata{Name: "a", UID: "u"}}},
			},
		},
		"status": {
			reason: "reason, details and causes are read",
			text: `{"kind":"Status","reason":"NotFound","message":"no","details":{"name":"a",` +
				`"group":"apps","kind":"deployments","uid":"u","causes":[1,{"reason":"FieldValueInvalid",` +
				`"field":"spec.a","message":"m","other":{}},{}]}}`,
			want: Body{
				Kind:    "Status",
				Reason:  "NotFound",
				Message: "no",
				Details: &Details{Name: "a", Group: "apps", Kind: "deployments", UID: "u"},
				Causes:  []message.Cause{{Reason: "FieldValueInvalid", Field: "spec.a", Message: "m"}},
			},
		},
		"bare status": {
			reason: "empty details are nil",
			text:   `{"kind":"Status","details":{"causes":[]}}`,
			want:   Body{Kind: "Status"},
		},
		"another's": {
			reason: "in an Event these fields differ and may be secret",
			text:   `{"kind":"Event","reason":"r","message":"m","details":{"name":"d"}}`,
			want:   Body{Kind: "Event"},
		},
		"kind last": {
			reason: "order does not matter",
			text:   `{"reason":"r","dryRun":["All"],"kind":"Status"}`,
			want:   Body{Kind: "Status", Reason: "r"},
		},
		"dry": {
			reason: "DeleteOptions may request a dry run",
			text:   `{"kind":"DeleteOptions","dryRun":["All"]}`,
			want:   Body{Kind: "DeleteOptions", Dry: true},
		},
		"dry, not": {
			reason: "only All is a dry run",
			text:   `{"kind":"DeleteOptions","dryRun":["all",1]}`,
			want:   Body{Kind: "DeleteOptions"},
		},
		"dry eviction": {
			reason: "the options in an Eviction may request a dry run",
			text:   `{"kind":"Eviction","deleteOptions":{"gracePeriodSeconds":1,"dryRun":["All"]}}`,
			want:   Body{Kind: "Eviction", Dry: true},
		},
		"dry for others": {
			reason: "a custom resource may have such a field",
			text:   `{"kind":"Plan","dryRun":["All"],"deleteOptions":{"dryRun":["All"]}}`,
			want:   Body{Kind: "Plan"},
		},
		"dry, kindless": {
			reason: "clients may leave the kind out",
			text:   `{"dryRun":["All"]}`,
			want:   Body{Dry: true},
		},
		"a patch": {
			reason: "a JSON patch is an array",
			text:   `[{"op":"add","path":"/metadata/name","value":"a"}]`,
		},
		"no value": {reason: "null is an empty body", text: `null`},
		"of other shapes": {
			reason: "members of other types are ignored, the rest is read",
			text: `{"kind":7,"metadata":{"name":{},"uid":[],"generation":"3",` +
				`"ownerReferences":{"controller":true},"namespace":"n"},"items":{}}`,
			want: Body{Metadata: Metadata{Namespace: "n"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			got, err := Decode([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var again Body
			if err := json.Unmarshal([]byte(tc.text), &again); tc.text != "null" &&
				(err != nil || !cmp.Equal(tc.want, again)) {
				t.Errorf("with json.Unmarshal got %+v, %v", again, err)
			}
		})
	}
	for name, text := range map[string]string{
		"empty":                 ``,
		"cut":                   `{"kind":"Pod","metadata":{"name":"a"`,
		"cut in a skipped part": `{"kind":"Pod","spec":{"a":`,
		"word":                  `Pod`,
	} {
		if got, err := Decode([]byte(text)); err == nil || got != nil ||
			!strings.HasPrefix(err.Error(), "cannot read the body: ") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestKeepsNothing: the Body shares no memory with the text, which is wiped later.
func TestKeepsNothing(t *testing.T) {
	text := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","uid":"u1","resourceVersion":"42"}}`)
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	clear(text)
	want := Body{
		APIVersion: "v1", Kind: "Pod", Metadata: Metadata{Name: "web", UID: "u1", ResourceVersion: "42"},
	}
	if !cmp.Equal(want, *got) {
		t.Errorf("got %+v", got)
	}
}

// TestNothings: elements without a name and UID need no memory.
func TestNothings(t *testing.T) {
	for name, element := range map[string]string{
		"objects":   `{}`,
		"of a list": `{"items":[{"metadata":{"name":"a"}}]}`,
		"rows":      `{"object":{}}`,
		"numbers":   `1`,
	} {
		text := `[` + element + strings.Repeat(`,`+element, 1000) + `]`
		got, err := Decode([]byte(`{"kind":"List","items":` + text + `,"rows":` + text + `}`))
		if err != nil || cap(got.Items) != 0 {
			t.Errorf("%s: capacity for %d items, want 0; %v", name, cap(got.Items), err)
		}
	}
}

// FuzzDecode: Decode never panics, and the size of the text bounds the size of the Body.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","items":[{"metadata":{"name":"a","ownerReferences":[{"controller":true}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Decode(text)
		if err != nil {
			return
		}
		if len(b.Items)*len(`{"metadata":{"uid":"u"}}`) > len(text) {
			t.Errorf("%d items from only %d bytes", len(b.Items), len(text))
		}
		for _, o := range b.Objects() {
			if o.Metadata.Name == "" && o.Metadata.UID == "" || o.Items != nil {
				t.Errorf("an object has no name and UID, or has items: %+v", o)
			}
		}
		if b.Kind != "Status" && (b.Reason != "" || b.Message != "" || b.Details != nil) {
			t.Errorf("a body of kind %q has reason %q, message %q", b.Kind, b.Reason, b.Message)
		}
		if m := b.Metadata; m.Remains() && !m.Deleting {
			t.Error("Remains is true without Deleting")
		}
		_ = b.Metadata.Version()
	})
}
