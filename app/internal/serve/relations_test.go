// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// TestChangedRelations: after a change of the relations the engine begins empty, and the watches
// list everything. Without one it is restored.
func TestChangedRelations(t *testing.T) {
	set := func(match string) *relation.Set {
		s, err := relation.NewSet([]relation.Declaration{{
			Name: "a", From: schema.GroupKind{Kind: "ConfigMap"}, To: schema.GroupKind{Kind: "Pod"}, Match: match,
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const one, other = "from.metadata.name == to.metadata.name", "from.metadata.uid == to.metadata.name"
	dir := t.TempDir()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		reason    string
		set       *relation.Set
		discarded bool
	}{
		{"a new store", set(one), false}, {"no change", set(one), false}, {"another expression", set(other), true},
		{"no change again", set(other), false}, {"no relation", nil, true}, {"none again", nil, false},
	}
	for _, tc := range cases {
		w := newWorld(t, dir)
		r := w.restore(t, recorderOptions{Relations: tc.set})
		if discarded := errors.Is(r.discarded, errRelations); discarded != tc.discarded || discarded && len(r.at) > 0 {
			t.Errorf("%s: discarded for %v, with %d positions", tc.reason, r.discarded, len(r.at))
		}
		r.reach(watch.Position{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Version: "7",
		})
		r.save = true
		now = now.Add(time.Minute)
		must(t, r.look(t.Context(), now))
		w.end()
	}
}
