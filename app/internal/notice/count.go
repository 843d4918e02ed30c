// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxPairs bounds Pairs.
const maxPairs = 500

// Other stands for the kind and the namespace beyond the bound.
const Other = "(other)"

// Pairs bounds the labels of a metric by a kind and a namespace: the first 500 pairs keep theirs. It is not safe for
// concurrent use.
type Pairs struct{ known map[[2]string]bool }

// Bounded returns the labels of a pair: its kind and its namespace, or Other for both.
func (p *Pairs) Bounded(kind, namespace string) (kindLabel, namespaceLabel string) {
	pair := [2]string{kind, namespace}
	if !p.known[pair] {
		if len(p.known) >= maxPairs {
			return Other, Other
		}
		if p.known == nil {
			p.known = map[[2]string]bool{}
		}
		p.known[pair] = true
	}
	return kind, namespace
}

// Labels are the labels of a count: the kind and the namespace of an object, and the category of the
// reason. Namespace is empty for objects without one.
type Labels struct{ Kind, Category, Namespace string }

// Counts counts problems, regressions and failed changes by labels. It is safe for concurrent use.
type Counts struct {
	mu sync.Mutex
	// failed are the failed changes since the start, and known their pairs of a kind and a namespace.
	failed map[Labels]int64
	known  Pairs
	now    *problem.Snapshot
	// report is the last one; nil without one.
	report *shift.Report
}

// Look replaces the problems, and adds the failed changes of finished.
func (c *Counts) Look(now *problem.Snapshot, finished []*span.Trace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[Labels]int64{}
	}
	for _, t := range finished {
		if failed(t) {
			of := ChangedObject(t)
			c.failed[labels(&c.known, of.Kind.Kind, category(t), of.Namespace)]++
		}
	}
	c.now = now
}

// Each calls present for each count of present problems, and failed for each count of changes that have
// failed since the start. A problem counts once in each namespace of its objects.
func (c *Counts) Each(present, failed func(l Labels, n int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := map[Labels]int64{}
	var known Pairs // of the present problems, the worst first
	c.now.Each(func(kind, category, namespace string) { problems[labels(&known, kind, category, namespace)]++ })
	for l, n := range problems {
		present(l, n)
	}
	for l, n := range c.failed {
		failed(l, n)
	}
}

// Report replaces the regressions; nil means none.
func (c *Counts) Report(r *shift.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report = r
}

// EachRegression calls add for each count of phases that are slower now. Phase takes the place of the category.
func (c *Counts) EachRegression(add func(l Labels, n int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report == nil {
		return
	}
	counts := map[Labels]int64{}
	var known Pairs // the worst first
	for i := range c.report.Shifts {
		if s := &c.report.Shifts[i]; !s.Faster && !s.Ended {
			counts[labels(&known, s.Kind, s.Phase, s.Namespace)]++
		}
	}
	for l, n := range counts {
		add(l, n)
	}
}

// labels returns labels with bounded values. known are the pairs so far.
func labels(known *Pairs, kind, category, namespace string) Labels {
	kind, namespace = known.Bounded(kind, namespace)
	return Labels{Kind: kind, Category: category, Namespace: namespace}
}

// ChangedObject returns the changed object of t, or the first one of a command.
func ChangedObject(t *span.Trace) object.Ref {
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
