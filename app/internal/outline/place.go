// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Step is a span on the way from a root to another span.
type Step struct {
	Span *span.Span
	// Key opens the page of the list that has the span.
	Key Key
}

// Span returns the span with an ID, or nil.
func (t *Tree) Span(id trace.SpanID) *span.Span {
	if w := t.bySpan[id]; w != nil {
		return w.span
	}
	return nil
}

// Way returns the steps from a root to the span with an ID, the span included. It is nil without such a
// span.
func (t *Tree) Way(id trace.SpanID) []Step {
	var out []Step
	for w := t.bySpan[id]; w != nil && w != t.top; w = t.above(w) {
		out = append(out, Step{Span: w.span, Key: t.list(w)})
	}
	slices.Reverse(out)
	return out
}

// Group returns the key of the outermost group with the span; the zero key without one.
func (t *Tree) Group(id trace.SpanID) Key {
	for _, step := range t.Way(id) {
		if step.Key.list == members {
			step.Key.From = 0
			return step.Key
		}
	}
	return Key{}
}

// list returns the key of the page that has w.
func (t *Tree) list(w *twig) Key {
	up := t.above(w)
	key := Key{of: idOf(up)}
	page := func(at int) int { return at / PageLength * PageLength }
	if at := slices.Index(up.others, w); at >= 0 {
		key.list, key.From = others, page(at)
		return key
	}
	byLikeness, firsts := map[string][]*twig{}, map[string]int{}
	for _, c := range up.mine {
		byLikeness[c.alike] = append(byLikeness[c.alike], c)
	}
	if alike := byLikeness[w.alike]; len(alike) >= GroupFrom {
		key.list, key.alike, key.From = members, hash(w.alike), page(slices.Index(alike, w))
		return key
	}
	at := 0
	for _, c := range up.mine {
		if c == w {
			break
		}
		if len(byLikeness[c.alike]) < GroupFrom || firsts[c.alike] == 0 {
			at++
		}
		firsts[c.alike]++
	}
	key.list, key.From = children, page(at)
	return key
}

// Find returns the spans that match, in the order of the tree: Lifeline's own before the others of the same
// parent. Count is their number, of which at most limit are in the list.
func (t *Tree) Find(match func(*span.Span) bool, limit int) (list []*span.Span, count int) {
	stack := []*twig{t.top}
	for len(stack) > 0 {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if w.span != nil && match(w.span) {
			if count++; count <= limit {
				list = append(list, w.span)
			}
		}
		for _, below := range [][]*twig{w.others, w.mine} {
			for _, c := range slices.Backward(below) {
				stack = append(stack, c)
			}
		}
	}
	return list, count
}
