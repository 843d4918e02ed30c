// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"math/rand/v2"
	"testing"
)

// forestOf lists the parents of the held spans.
func forestOf(f *forest) map[byte]byte {
	out := map[byte]byte{}
	for k, n := range f.nodes {
		out[k.span[7]] = 0
		if n.above != nil {
			out[k.span[7]] = n.above.key.span[7]
		}
	}
	return out
}

// TestForest: the trees do not depend on the order of arrival. After the removal of all spans, nothing
// is left.
func TestForest(t *testing.T) {
	parents := []byte{0, 0, 1, 1, 2, 2, 3, 9, 7, 5} // by ID; the parent 9 of 7 is below 7 by 8: a cycle
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newForest()
		var all []*node
		for _, id := range r.Perm(8) {
			id := byte(id) + 1
			n := newNode(received(1, id, parents[id], "work"), 1, zero)
			all = append(all, n)
			f.plant(n)
		}
		got := forestOf(&f)
		for id := byte(1); id <= 8; id++ {
			want := parents[id]
			if want == 9 {
				want = 0 // it is not held
			}
			if got[id] != want {
				t.Fatalf("seed %d: %d is below %d, want %d", seed, id, got[id], want)
			}
		}
		if f.groups[all[0].key.trace].len != len(all) || f.waiting.len != len(all) {
			t.Fatalf("seed %d: the lists do not have all spans", seed)
		}
		for _, at := range r.Perm(len(all)) {
			f.uproot(all[at])
		}
		if len(f.nodes)+len(f.orphans)+len(f.groups)+f.waiting.len+f.weak.len+f.homed.len+f.bytes != 0 {
			t.Fatalf("seed %d: the removed spans have left %+v", seed, f)
		}
	}
}

// TestForestOfACycle: spans that name each other as parents are held, and can be walked and removed.
func TestForestOfACycle(t *testing.T) {
	f := newForest()
	var all []*node
	for id, parent := range map[byte]byte{1: 3, 2: 1, 3: 2} {
		n := newNode(received(1, id, parent, "work"), 1, zero)
		all = append(all, n)
		f.plant(n)
	}
	for _, n := range all {
		if got := walk(n.top(), nil); len(got) != 3 {
			t.Errorf("a walk has %d spans, want 3", len(got))
		}
	}
	for _, n := range all {
		f.uproot(n)
	}
	if len(f.nodes)+len(f.orphans) != 0 {
		t.Errorf("the removed spans have left %+v", f)
	}
}

// TestBundle: spans without a home leave with their trees and with the rest of their traces.
func TestBundle(t *testing.T) {
	f := newForest()
	add := func(in, id, parent byte) *node {
		n := newNode(received(in, id, parent, "work"), 1, zero)
		f.plant(n)
		return n
	}
	root, child, apart, homed := add(1, 1, 0), add(1, 2, 1), add(1, 3, 0), add(1, 4, 1)
	add(2, 5, 0)
	homed.home.change = &change{}
	got := map[*node]bool{}
	for _, n := range f.bundle(child) {
		got[n] = true
	}
	if len(got) != 3 || !got[root] || !got[child] || !got[apart] {
		t.Errorf("the bundle has %d spans, want those of the trace without a home", len(got))
	}
}
