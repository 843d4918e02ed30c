// SPDX-License-Identifier: Apache-2.0

// Package rights decides what a user may see of a trace.
package rights

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Outside is the name of the span above the visible spans whose ancestors are all hidden.
const Outside = "outside your namespaces"

// neutral is the sentence about an object in the place of one that names a hidden object.
const neutral = "does not have its desired state"

// Sees is what a user may see.
type Sees struct {
	// Object reports whether the user may see an object. The zero Ref stands for work without an object, such as a
	// command.
	Object func(object.Ref) bool
	// Trace reports whether the user may see anything of another trace. Nil means that links to other traces go.
	Trace func(trace.TraceID) bool
}

// Project returns what a user may see of a trace: t itself if that is everything, and nil if it is nothing. It never
// changes t. The outcome, the reason and the tree are those of the visible part:
//
//   - A visible span is below its nearest visible ancestor. Without one it is below a span named Outside, which has no
//     object, text or time of its own.
//   - A command, and other work without an object, names any object. It is visible if all objects of its trace are, and
//     the one that a span of another component names in its attributes.
//   - A sentence that names a hidden object becomes a neutral one. The status text of a visible object is its own.
//   - An attribute that names a hidden object goes, and so do the facts of a Pod about a hidden Node.
//   - A scheduler's spans name Nodes and Pods of all namespaces to those alone who see Nodes. The Pod and the machine
//     from which another component sends its spans are hidden, unless the user sees Pods of that namespace.
//   - An object that only a text mentions has the namespace of Mentioned.
func Project(t *span.Trace, sees Sees) *span.Trace {
	p := projection{
		sees: sees, of: t, kept: map[trace.SpanID]*span.Span{}, up: map[trace.SpanID]*span.Span{},
		objects: map[string]bool{}, senders: map[*span.Resource]*span.Resource{},
	}
	p.keep()
	switch {
	case len(p.kept) == 0:
		return nil
	case p.whole():
		return t
	}
	return p.trace()
}

// projection is one call of Project.
type projection struct {
	sees Sees
	of   *span.Trace
	// up are all spans by ID, and kept the visible ones.
	up, kept map[trace.SpanID]*span.Span
	hidden   hidden
	// objects has all objects of the trace, as an attribute mentions them.
	objects map[string]bool
	// senders has the visible part of resources.
	senders map[*span.Resource]*span.Resource
}

// keep finds the visible spans and the hidden objects.
func (p *projection) keep() {
	for _, s := range p.of.Spans {
		if _, twice := p.up[s.ID]; !twice {
			p.up[s.ID] = s
		}
		p.hide(s.Object)
		for _, w := range writes(s) {
			if w.Of != nil {
				p.hide(*w.Of)
			}
		}
	}
	bare := len(p.hidden.objects) == 0 && (len(p.objects) > 0 || p.sees.Object(object.Ref{}))
	for _, s := range p.of.Spans {
		if p.visible(s, bare) {
			p.kept[s.ID] = s
		}
	}
}

// visible reports whether the user may see a span. bare is true if spans without an object are visible.
func (p *projection) visible(s *span.Span, bare bool) bool {
	if s.Object != (object.Ref{}) {
		return p.sees.Object(s.Object)
	}
	of := named(s)
	return bare && (of == (object.Ref{}) || p.sees.Object(of))
}

// hide notes an object of the trace.
func (p *projection) hide(o object.Ref) {
	if o == (object.Ref{}) {
		return
	}
	p.objects[nameOf(o)] = true
	if !p.hidden.objects[o] && !p.sees.Object(o) {
		p.hidden.add(o)
	}
}

// whole reports whether the user may see everything.
func (p *projection) whole() bool {
	return len(p.hidden.objects) == 0 && len(p.kept) == len(p.up) &&
		!slices.ContainsFunc(p.of.Spans, func(s *span.Span) bool { return p.links(s) || p.attributes(s) })
}

// trace returns the visible part.
func (p *projection) trace() *span.Trace {
	out := &span.Trace{ID: p.of.ID, Spans: make([]*span.Span, 0, len(p.kept)+1)}
	top := &span.Span{TraceID: p.of.ID, ID: span.DeriveID(p.of.ID, Outside), Name: Outside}
	var tops []*span.Span
	open := false
	for _, s := range p.of.Spans {
		if p.kept[s.ID] == nil {
			continue
		}
		one := p.part(s)
		at := p.ancestor(s)
		switch {
		case at != nil:
			one.Parent = at.ID
		case s.Parent.IsValid() && !s.RemoteParent:
			one.Parent, one.Evidence = top.ID, ""
			if top.Start.IsZero() || one.Start.Before(top.Start.Time) {
				top.Start = one.Start
			}
			if open = open || one.Open(); one.End.After(top.End.Time) {
				top.End = one.End
			}
			tops = append(tops, one)
		default:
			tops = append(tops, one)
		}
		out.Spans = append(out.Spans, one)
	}
	if !top.Start.IsZero() {
		if open {
			top.End = span.Time{}
		}
		out.Spans = append([]*span.Span{top}, out.Spans...)
	}
	out.Spans = span.TreeOrder(out.Spans)
	p.conclude(out, tops)
	return out
}

// ancestor returns the nearest visible span above s; nil without one.
func (p *projection) ancestor(s *span.Span) *span.Span {
	for range len(p.up) { // parents may form a cycle
		if s = p.up[s.Parent]; s == nil {
			return nil
		}
		if kept := p.kept[s.ID]; kept != nil {
			return kept
		}
	}
	return nil
}

// rank orders outcomes, the worst last.
var rank = []span.Outcome{
	"", span.Deleted, span.Superseded, span.Converged, span.Unfinished, span.Refused, span.Failed,
}

// conclude sets the outcome and the reason: those of the worst of the topmost spans. A failure below them counts as it
// does in the whole trace.
func (p *projection) conclude(out *span.Trace, tops []*span.Span) {
	var worst *span.Span
	for _, s := range tops {
		if worst == nil || slices.Index(rank, outcomeOf(s)) > slices.Index(rank, outcomeOf(worst)) {
			worst = s
		}
	}
	if p.of.Outcome.InVain() {
		for _, s := range out.Spans {
			if s.Outcome == p.of.Outcome && outcomeOf(worst) != s.Outcome {
				worst = s
			}
		}
	}
	out.Outcome = outcomeOf(worst)
	if out.Outcome == p.of.Outcome {
		out.Was = p.of.Was
	}
	if out.Outcome.InVain() || out.Outcome == span.Unfinished {
		out.Reason = worst.Message
		if text := text(worst, span.KeyReasonMessage); text != "" {
			out.Reason = text
		}
	}
}

// outcomeOf returns the outcome of a span: Unfinished while it is open.
func outcomeOf(s *span.Span) span.Outcome {
	if s.Open() {
		return span.Unfinished
	}
	return s.Outcome
}

// text returns the text under a key.
func text(s *span.Span, key attribute.Key) string {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value.AsString()
		}
	}
	return ""
}

func writes(s *span.Span) []span.Write {
	if s.Facts == nil {
		return nil
	}
	return s.Facts.Writes
}
