// SPDX-License-Identifier: Apache-2.0

package stitch

// buffer holds the spans of other components, in all indexes.
type buffer struct {
	forest     forest
	identities identities
	streams    streams
	copies     copies
}

// newBuffer returns an empty buffer, with or without copies.
func newBuffer(kept bool) *buffer {
	return &buffer{
		forest: newForest(), identities: newIdentities(), streams: newStreams(), copies: copies{kept: kept},
	}
}

func (b *buffer) add(n *node) {
	b.forest.plant(n)
	b.copies.add(n)
	b.streams.meet(n, &b.forest)
	if n.identity.kind == noIdentity {
		return
	}
	e := b.identities.entry(n.identity)
	e.nodes.push(n)
	b.recount(n.identity, e)
}

// remove removes n from all indexes.
func (b *buffer) remove(n *node) {
	b.streams.part(n)
	b.forest.uproot(n)
	b.copies.remove(n)
	if n.identity.kind == noIdentity {
		return
	}
	e := b.identities.entries[n.identity]
	e.nodes.remove(n)
	b.recount(n.identity, e)
	b.identities.release(n.identity)
}

// recount marks the requests of an audit-id to be resolved again after a change of their number. A
// further request may make the ID ambiguous. Beyond maxHops nothing changes.
func (b *buffer) recount(id identity, e *entry) {
	if id.kind == byAudit && e.nodes.len <= maxHops+1 {
		e.nodes.each(b.forest.touch)
	}
}
