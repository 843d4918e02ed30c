// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestSaved: after a restart, the values of unchanged objects are known.
func TestSaved(t *testing.T) {
	m := NewMemory(1, 2)
	put := func(uid types.UID, version uint64, value string, owners ...object.Owner) {
		m.Put(&Version{
			Ref: &object.Ref{UID: uid, Name: string(uid)}, ResourceVersion: version, Owners: owners,
			Words: m.Collect(Object{"spec": Object{"args": []any{value}}}, false),
		})
	}
	put("a", 1, "first1")
	put("a", 2, "second2")
	put("b", 3, "third3", object.Owner{UID: "a"})
	put("c", 4, "")
	put("changed", 5, "fourth4")
	put("gone", 6, "fifth5")
	data := m.Save()
	present := map[object.Ref]uint64{{UID: "a"}: 2, {UID: "b"}: 3, {UID: "c"}: 4, {UID: "changed"}: 6, {UID: "new"}: 7}
	again := NewMemory(1, 2)
	if err := again.Restore(data, maps.All(present)); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[types.UID]string{
		"a": "… … … fourth4", "b": "… … … fourth4", "c": "first1 second2 third3 fourth4",
		"changed": "", "gone": "", "new": "",
	} {
		v, ok := again.Of(uid, false)
		got := ""
		if ok {
			got = v.Mask("first1 second2 third3 fourth4")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", uid, got, want)
		}
	}
	for n := range data {
		if NewMemory(1, 2).Restore(data[:n], maps.All(present)) == nil {
			t.Errorf("the first %d of %d bytes are taken", n, len(data))
		}
	}
}

func FuzzRestore(f *testing.F) {
	m := NewMemory(1, 2)
	m.Put(&Version{
		Ref: &object.Ref{UID: "a"}, ResourceVersion: 1,
		Words: m.Collect(Object{"spec": Object{"args": []any{"first1"}}}, false),
	})
	f.Add(m.Save())
	f.Fuzz(func(_ *testing.T, data []byte) {
		m := NewMemory(1, 2)
		if m.Restore(data, maps.All(map[object.Ref]uint64{{UID: "a"}: 1})) == nil {
			if v, ok := m.Of("a", false); ok {
				v.Mask("first1 second2")
			}
		}
	})
}
