// SPDX-License-Identifier: Apache-2.0

package span

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// claim is one claim about the outcome of a reconciliation, in a span named NameAmend.
type claim struct {
	*Span
	number int64
	// trace is the outcome of the whole trace from this claim on; empty if it stays.
	trace Outcome
}

// IsClaim reports whether s is a new claim about the outcome of the reconciliation above it.
func (s *Span) IsClaim() bool { return s.Name == NameAmend && s.Origin == nil && s.Outcome != "" }

func claimOf(s *Span) claim {
	c := claim{Span: s}
	for _, kv := range s.Attributes {
		switch kv.Key {
		case KeyClaim:
			c.number = kv.Value.AsInt64()
		case KeyTraceOutcome:
			c.trace = Outcome(kv.Value.AsString())
		}
	}
	return c
}

// Revise returns t with its valid claims: of each reconciliation the outcome of the highest number, and the end of the
// first claim with a result. Aftermaths that newer ones replace are left out. It returns t itself without any of these,
// and never changes it. Another call changes nothing. The order of the spans does not matter.
func Revise(t *Trace) *Trace {
	t = newest(t)
	claims := map[trace.SpanID][]claim{}
	var final Outcome
	var at Time
	for _, s := range t.Spans {
		if !s.IsClaim() {
			continue
		}
		c := claimOf(s)
		claims[s.Parent] = append(claims[s.Parent], c)
		if rank(c.trace) > rank(final) {
			final, at = c.trace, c.Start
		}
	}
	if len(claims) == 0 {
		return t
	}
	out := *t
	out.Spans = slices.Clone(t.Spans)
	was := map[trace.SpanID]*Span{}
	now := map[trace.SpanID]*Span{}
	for i, s := range out.Spans {
		if of := claims[s.ID]; len(of) > 0 && !s.IsClaim() {
			out.Spans[i] = revised(s, of)
			was[s.ID], now[s.ID] = s, out.Spans[i]
		}
	}
	for i, s := range out.Spans { // phases that went on after the first claim
		up := now[s.Parent]
		if up == nil || !s.Open() && !(revisedBefore(was[s.Parent]) && s.End == was[s.Parent].End) {
			continue
		}
		one := *s
		one.End = up.End
		out.Spans[i] = &one
	}
	if final == "" || final == t.Outcome {
		return &out
	}
	if out.Was == "" {
		out.Was = t.Outcome
	}
	out.Outcome = final
	if root := out.Root(); root != nil && len(claims[root.ID]) == 0 {
		i := slices.Index(out.Spans, root)
		if root.Outcome == t.Outcome { // that of a command
			out.Spans[i] = revised(root, []claim{{&Span{Outcome: final, Start: at}, 1, final}})
		} else if final != Failed { // it had the reason of an object below it
			one := *root
			one.Attributes = slices.DeleteFunc(slices.Clone(root.Attributes), isReason)
			out.Spans[i] = &one
		}
	}
	return &out
}

// rank orders the outcomes of claims: each one may follow those below it.
func rank(o Outcome) int {
	switch o {
	case "":
		return 0
	case Unfinished:
		return 1
	case Failed:
		return 2
	}
	return 3
}

// revised returns a copy of s with the highest of the claims about it.
func revised(s *Span, claims []claim) *Span {
	slices.SortFunc(claims, func(a, b claim) int { return int(a.number - b.number) })
	last := claims[len(claims)-1]
	out := *s
	was := s.Outcome
	if i := slices.IndexFunc(s.Attributes, isWas); i >= 0 {
		was = Outcome(s.Attributes[i].Value.AsString())
	}
	if was == Unfinished { // its end was that of the patience
		for _, c := range claims {
			if c.Outcome != Unfinished {
				out.End = c.Start
				break
			}
		}
	}
	out.Outcome, out.Status, out.Message = last.Outcome, last.Status, last.Message
	out.Attributes = slices.DeleteFunc(slices.Clone(s.Attributes), func(kv attribute.KeyValue) bool {
		return kv.Key == KeyWas || kv.Key == KeyClaim ||
			last.Outcome != Failed && isReason(kv)
	})
	out.Attributes = append(out.Attributes, KeyClaim.Int64(last.number), KeyWas.String(string(was)))
	return &out
}

func isReason(kv attribute.KeyValue) bool {
	return strings.HasPrefix(string(kv.Key), string(KeyReason))
}

func isWas(kv attribute.KeyValue) bool { return kv.Key == KeyWas }

// revisedBefore reports whether an earlier call of Revise has made s.
func revisedBefore(s *Span) bool { return slices.ContainsFunc(s.Attributes, isWas) }

// SettledAt returns the time of the newest claim about t, or zero without one.
func (t *Trace) SettledAt() time.Time {
	var at time.Time
	for _, s := range t.Spans {
		if s.IsClaim() && s.Start.After(at) {
			at = s.Start.Time
		}
	}
	return at
}
