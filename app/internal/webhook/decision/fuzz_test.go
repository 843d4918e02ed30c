// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// FuzzDecide decides about arbitrary objects. A writer's own context stays, and a second admission
// changes nothing.
func FuzzDecide(f *testing.F) {
	for _, o := range []map[string]any{
		web(),
		carrying(web(), sc(3, true)),
		owned("web-1"),
		made(`{"metadata": {"annotations": {"a": 1, "b": null}}}`),
	} {
		text, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(`null`), "Deployment", true)
		f.Add(text, text, "Service", true)
		f.Add([]byte(`{"metadata": {"name": 1}, "spec": []}`), text, "Pod", false)
	}
	f.Fuzz(func(t *testing.T, sent, before []byte, kind string, trusted bool) {
		r := &Request{
			UID:       "call",
			Kind:      schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind},
			Namespace: "demo",
			Name:      "web",
			User:      ann,
			Baggage:   sc(1, true),
		}
		if json.Unmarshal(sent, &r.Object) != nil || json.Unmarshal(before, &r.Before) != nil {
			return
		}
		supply.DropNulls(r.Object)
		supply.DropNulls(r.Before)
		r.Create = r.Before == nil
		d := New(Options{Trusts: func(User) bool { return trusted }})
		a := d.Decide(r, now)
		if a.Annotations == nil {
			return
		}
		for k, v := range content(r.Object).Annotations {
			if !lifeline.Default.Owns(k) && a.Annotations[k] != v {
				t.Errorf("lost annotation %q", k)
			}
		}
		after := stored(r.Object, a, "uid", 2)
		r.Create, r.Object, r.Before = false, after, after
		if again := d.Decide(r, now.Add(time.Hour)); again.Annotations != nil {
			t.Errorf("decided again it changes: %v, then %v", a.Annotations, again.Annotations)
		}
	})
}
