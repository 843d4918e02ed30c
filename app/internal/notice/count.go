// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxLabels bounds the pairs of a kind and a namespace in metrics; others are counted as Other.
const maxLabels = 500

// Other stands for the kind and the namespace beyond the bound.
const Other = "(other)"

// Labels are the labels of a count: the kind and the namespace of the changed object, and the category
// of the reason. Namespace is empty for objects without one.
type Labels struct{ Kind, Category, Namespace string }

// Counts counts changes by labels. It is safe for concurrent use.
type Counts struct {
	mu     sync.Mutex
	known  map[[2]string]bool
	failed map[Labels]int64
	stuck  map[Labels]int64
}

// Look counts the open changes with a reason, and adds the failed ones of finished.
func (c *Counts) Look(open, finished []*span.Trace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known, c.failed = map[[2]string]bool{}, map[Labels]int64{}
	}
	for _, t := range finished {
		if failed(t) {
			c.failed[c.labels(t)]++
		}
	}
	c.stuck = map[Labels]int64{}
	for _, t := range open {
		if category(t) != "" {
			c.stuck[c.labels(t)]++
		}
	}
}

// Each calls stuck for each count of changes that are stuck now, and failed for each count of changes
// that have failed since the start.
func (c *Counts) Each(stuck, failed func(l Labels, n int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l, n := range c.stuck {
		stuck(l, n)
	}
	for l, n := range c.failed {
		failed(l, n)
	}
}

// labels returns the labels of t, with bounded values.
func (c *Counts) labels(t *span.Trace) Labels {
	of := changed(t)
	pair := [2]string{of.Kind.Kind, of.Namespace}
	if !c.known[pair] && len(c.known) >= maxLabels {
		return Labels{Kind: Other, Category: category(t), Namespace: Other}
	}
	c.known[pair] = true
	return Labels{Kind: of.Kind.Kind, Category: category(t), Namespace: of.Namespace}
}

// changed returns the changed object of t, or the first one of a command.
func changed(t *span.Trace) object.Ref {
	root := t.Root()
	switch {
	case root == nil:
		return object.Ref{}
	case root.Object.Name != "":
		return root.Object
	}
	for _, s := range t.Spans {
		if s.Parent == root.ID && s.Object.Name != "" {
			return s.Object
		}
	}
	return object.Ref{}
}
