// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"testing"
)

// TestBuffer: a removed span leaves nothing in any index.
func TestBuffer(t *testing.T) {
	b := newBuffer(true)
	var all []*node
	for id := range byte(6) {
		n := newNode(received(id, id+1, 0, "POST /pods", keyAuditID.String("audit")), 1, zero)
		b.add(n)
		all = append(all, n)
	}
	if e := b.identities.entries[identity{byAudit, "audit"}]; e == nil || e.nodes.len != len(all) {
		t.Fatalf("the identity has the entry %+v", e)
	}
	all[0].kept = 7
	for _, n := range all {
		b.remove(n)
	}
	if len(b.forest.nodes)+len(b.identities.entries)+len(b.streams.of) != 0 {
		t.Errorf("the removed spans have left %+v", b)
	}
	if len(b.copies.fresh) != len(all) || len(b.copies.left) != 1 || b.copies.left[0].Place != 7 {
		t.Errorf("the copies are %+v", b.copies)
	}
}
