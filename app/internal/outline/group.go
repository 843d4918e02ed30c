// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Group is what siblings have in common, and how their durations differ.
type Group struct {
	// Key opens the members.
	Key Key
	Likeness
	// Count counts the members, and Open those that have not ended.
	Count, Open int
	// Start is the earliest start of a member, and End the latest end, or the time of the outline.
	Start, End time.Time
	// Quantiles are durations of members: the shortest, those at 0.5, 0.9 and 0.99, and the longest.
	Quantiles [5]time.Duration
	// Outliers are the members whose durations are the farthest from the one at 0.5, the farthest
	// first.
	Outliers []*span.Span
}

// Likeness is what alike siblings have in common.
type Likeness struct {
	// Name, Kind, Outcome and Reason are those of the span. Failed is true for an error.
	Name, Kind string
	Outcome    span.Outcome
	Reason     string
	Failed     bool
	// Phases are the names of the spans below of the same object, and Images the images there.
	Phases, Images []string
}

// quantiles are the fractions of Group.Quantiles.
var quantiles = [5]float64{0, 0.5, 0.9, 0.99, 1}

// likenessOf returns what w shares with siblings that are alike.
func likenessOf(w *twig) Likeness {
	out := Likeness{
		Name: insight.Label(w.span), Kind: w.span.Object.Kind.Kind, Outcome: w.span.Outcome,
		Reason: insight.Attribute(w.span, span.KeyReason), Failed: w.span.Status == span.StatusError,
	}
	var collect func(of *twig)
	collect = func(of *twig) {
		if image := insight.Attribute(of.span, span.KeyImage); image != "" {
			out.Images = append(out.Images, image)
		}
		for _, c := range of.mine {
			if c.span.Origin == nil && c.span.Object == w.span.Object {
				out.Phases = append(out.Phases, c.span.Name)
				collect(c)
			}
		}
	}
	collect(w)
	out.Phases, out.Images = distinct(out.Phases), distinct(out.Images)
	return out
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// likeness returns a text that is equal for alike spans.
func likeness(w *twig) string {
	l := likenessOf(w)
	failed := ""
	if l.Failed {
		failed = "failed"
	}
	const between, inside = "\x00", "\x01"
	return strings.Join([]string{
		l.Name, l.Kind, w.span.Service, string(l.Outcome), l.Reason, failed,
		strings.Join(l.Phases, inside), strings.Join(l.Images, inside),
	}, between)
}

func hash(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum32()
}

// groupOf describes alike siblings, of which there is one at least.
func groupOf(list []*twig, now time.Time) *Group {
	out := &Group{Likeness: likenessOf(list[0]), Count: len(list), Start: list[0].span.Start.Time}
	lengths := make([]time.Duration, len(list))
	for i, w := range list {
		s := w.span
		lengths[i] = s.Duration(now)
		end := s.End.Time
		if s.Open() {
			out.Open++
			end = now
		}
		if s.Start.Before(out.Start) {
			out.Start = s.Start.Time
		}
		if end.After(out.End) {
			out.End = end
		}
	}
	slices.Sort(lengths)
	for i, q := range quantiles {
		out.Quantiles[i] = lengths[max(0, int(math.Ceil(q*float64(len(lengths))))-1)]
	}
	middle := out.Quantiles[1]
	far := func(s *span.Span) time.Duration { return (s.Duration(now) - middle).Abs() }
	for _, w := range list {
		if far(w.span) > 0 {
			out.Outliers = append(out.Outliers, w.span)
		}
	}
	slices.SortStableFunc(out.Outliers, func(a, b *span.Span) int { return cmp.Compare(far(b), far(a)) })
	out.Outliers = out.Outliers[:min(len(out.Outliers), MaxOutliers)]
	return out
}
