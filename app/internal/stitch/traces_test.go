// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestTracesForget: a forgotten trace leaves nothing, and its spans are resolved again.
func TestTracesForget(t *testing.T) {
	b := newBuffer(false)
	all := newTraces(&b.forest, &b.identities)
	n := newNode(received(1, 1, 0, "POST /pods", keyAuditID.String("audit-a")), 1, zero)
	b.add(n)
	r := newResolver(b, all)
	c := all.know(ours("a"), zero)
	all.know(ours("b"), zero)
	r.settle()
	if n.home.change != c || len(c.trees) != 1 {
		t.Fatalf("the home is %+v", n.home)
	}
	all.forget(c)
	r.settle()
	if n.home.change != nil || len(all.changes) != 1 || len(all.own) != 2 || len(all.open) != 1 {
		t.Errorf("the home is %+v, the traces are %+v", n.home, all)
	}
	b.remove(n)
	all.forget(all.changes[span.DeriveTraceID("b")])
	if len(all.changes)+len(all.own)+len(all.open)+len(b.identities.entries) != 0 {
		t.Errorf("the forgotten traces have left %+v and %+v", all, b.identities.entries)
	}
}

// TestEndings: a finished trace accepts spans until Keep is over or the index is full.
func TestEndings(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		opts   Options
		after  time.Duration
		change func(*change)
		held   int
		closed bool // the first trace
	}{
		"Kept":    {"within Keep", Options{Keep: time.Hour, MaxIndex: 99}, time.Hour, nil, 2, false},
		"Over":    {"after Keep", Options{Keep: time.Hour, MaxIndex: 99}, time.Hour + 1, nil, 0, true},
		"Bounded": {"the oldest trace leaves a full index", Options{Keep: time.Hour, MaxIndex: 4}, 0, nil, 1, false},
		"Outside": {
			"a trace with a parent outside passes the spans of others", Options{Keep: time.Hour, MaxIndex: 99},
			time.Hour + 1, func(c *change) { c.outside = true }, 0, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuffer(false)
			all := newTraces(&b.forest, &b.identities)
			e := endings{opts: &c.opts, traces: all}
			for _, name := range []string{"a", "b"} {
				one := all.know(ours(name), zero)
				one.done, one.handed = true, zero
				if c.change != nil {
					c.change(one)
				}
				e.add(one)
			}
			e.close(zero.Add(c.after))
			if len(all.changes) != c.held || len(e.finished) != c.held || e.index != 3*c.held {
				t.Errorf("%d traces with %d identities, want %d: %s", len(all.changes), e.index, c.held, c.reason)
			}
			if got := all.closed.has(span.DeriveTraceID("a")); got != c.closed {
				t.Errorf("closed: %t, want %t: %s", got, c.closed, c.reason)
			}
		})
	}
}
