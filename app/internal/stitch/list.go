// SPDX-License-Identifier: Apache-2.0

package stitch

// hook is a node's place in one list.
type hook struct{ next, prev *node }

// list is a linked list through one kind of node hook. Adding and removing take constant time, also
// in a flood of spans that share an identity.
type list struct {
	hook       func(*node) *hook
	head, tail *node
	len        int
}

func (l *list) push(n *node) {
	h := l.hook(n)
	h.prev, h.next = l.tail, nil
	if l.tail == nil {
		l.head = n
	} else {
		l.hook(l.tail).next = n
	}
	l.tail = n
	l.len++
}

func (l *list) remove(n *node) {
	h := l.hook(n)
	if h.prev == nil {
		l.head = h.next
	} else {
		l.hook(h.prev).next = h.next
	}
	if h.next == nil {
		l.tail = h.prev
	} else {
		l.hook(h.next).prev = h.prev
	}
	*h = hook{}
	l.len--
}

// each calls f with every node. f may remove its node.
func (l *list) each(f func(*node)) {
	for n := l.head; n != nil; {
		next := l.hook(n).next
		f(n)
		n = next
	}
}

func hookOfGroup(n *node) *hook    { return &n.inGroup }
func hookOfAge(n *node) *hook      { return &n.byAge }
func hookOfIdentity(n *node) *hook { return &n.byIdentity }
