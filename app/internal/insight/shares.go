// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Other is the label of the share of all small ones.
const Other = "other"

// smallest is the percentage below which a share is part of Other.
const smallest = 3

// Share is the part of the critical path of one kind of work.
type Share struct {
	// Label is the name of the work: a span's name, with the image of a pull.
	Label    string
	Duration time.Duration
	// Percent is rounded; the percentages of all shares sum to 100.
	Percent int
}

// Shares sums the segments by label, largest first. Shares below 3 % are summed as Other, which is
// last, and omitted at 0 %.
func Shares(path []Segment) []Share {
	shares, total := sum(path)
	if total <= 0 {
		return nil
	}
	slices.SortStableFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Label, b.Label))
	})
	small := slices.IndexFunc(shares, func(s Share) bool { return percent(s.Duration, total) < smallest })
	if small >= 0 {
		rest := Share{Label: Other}
		for _, s := range shares[small:] {
			rest.Duration += s.Duration
		}
		shares = append(shares[:small], rest)
	}
	round(shares, total)
	if last := len(shares) - 1; shares[last].Percent == 0 {
		shares = shares[:last]
	}
	return shares
}

func sum(path []Segment) (shares []Share, total time.Duration) {
	at := map[string]int{}
	for _, seg := range path {
		label := Label(seg.Span)
		i, known := at[label]
		if !known {
			i = len(shares)
			at[label] = i
			shares = append(shares, Share{Label: label})
		}
		shares[i].Duration += seg.Duration()
		total += seg.Duration()
	}
	return shares, total
}

// round sets the percentages by the largest remainder.
func round(shares []Share, total time.Duration) {
	left := 100
	order := make([]int, len(shares))
	for i := range shares {
		shares[i].Percent = int(percent(shares[i].Duration, total))
		left -= shares[i].Percent
		order[i] = i
	}
	remainder := func(i int) float64 {
		return percent(shares[i].Duration, total) - float64(shares[i].Percent)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainder(b), remainder(a)) })
	for _, i := range order[:min(max(left, 0), len(order))] {
		shares[i].Percent++
	}
}

func percent(part, total time.Duration) float64 { return 100 * float64(part) / float64(total) }

// Label returns the name of a span's work: its name, with the image of a pull or the type of a
// condition. For the span of a run that is "kubectl itself".
func Label(s *span.Span) string {
	if program := program(s); program != "" {
		return program + " itself"
	}
	if k := s.Detail(); k != "" {
		if detail := Attribute(s, k); detail != "" {
			return s.Name + " " + detail
		}
	}
	return s.Name
}

// program is the name of the program under lifeline run, for the span of a run.
func program(s *span.Span) string {
	if s.Name != span.NameRun {
		return ""
	}
	path, _, _ := strings.Cut(Attribute(s, span.KeyCommand), " ")
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// List returns the value of the span's attribute k as a list of texts, or nil.
func List(s *span.Span, k attribute.Key) []string { return value(s, k).AsStringSlice() }

// Attribute returns the value of the span's attribute k as text, or "".
func Attribute(s *span.Span, k attribute.Key) string {
	if v := value(s, k); v.Type() != attribute.EMPTY {
		return v.String()
	}
	return ""
}

// Number returns the value of the span's attribute k as an integer, or 0.
func Number(s *span.Span, k attribute.Key) int64 {
	if v := value(s, k); v.Type() == attribute.INT64 {
		return v.AsInt64()
	}
	return 0
}

// Numbers returns the value of the span's attribute k as a list of integers, or nil.
func Numbers(s *span.Span, k attribute.Key) []int64 { return value(s, k).AsInt64Slice() }
