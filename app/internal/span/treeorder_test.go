// SPDX-License-Identifier: Apache-2.0

package span_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestTreeOrderOfCircles: a cycle is opened at one of its spans, and keeps its descendants.
func TestTreeOrderOfCircles(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	one := func(name byte, parent byte, start int) *span.Span {
		s := &span.Span{
			ID: trace.SpanID{name}, Name: string(name), Start: span.Time{
				Time: at.Add(time.Duration(start) * time.Second),
			},
		}
		if parent != 0 {
			s.Parent = trace.SpanID{parent}
		}
		return s
	}
	outside := func(s *span.Span) *span.Span {
		s.RemoteParent = true
		return s
	}
	for name, tc := range map[string]struct {
		reason string
		spans  func() []*span.Span
		want   string // in order, roots in capitals
	}{
		"tree": {
			"nothing to open", func() []*span.Span {
				return []*span.Span{one('a', 0, 0), one('b', 'a', 2), one('c', 'a', 1)}
			}, "A c b",
		},
		"circle": {
			"the earliest", func() []*span.Span {
				return []*span.Span{one('a', 'b', 1), one('b', 'c', 2), one('c', 'a', 3)}
			}, "A c b",
		},
		"below": {
			"what is earlier is not on the circle", func() []*span.Span {
				return []*span.Span{one('a', 'b', 1), one('b', 'a', 2), one('c', 'a', 0)}
			}, "A c b",
		},
		"outside": {"its parent was never sure to be here", func() []*span.Span {
			return []*span.Span{one('a', 'b', 1), outside(one('b', 'a', 2)), one('c', 'a', 0)}
		}, "B a c"},
		"itself": {
			"a circle of one", func() []*span.Span { return []*span.Span{one('a', 'a', 1), one('b', 'a', 0)} }, "A b",
		},
		"two": {"each is opened", func() []*span.Span {
			return []*span.Span{one('a', 'b', 1), one('b', 'a', 2), one('c', 'd', 4), one('d', 'c', 3)}
		}, "A b D c"},
	} {
		for range 10 {
			spans := tc.spans()
			rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
			var got []string
			for _, s := range span.TreeOrder(slices.Clone(spans)) {
				name := s.Name
				if !s.Parent.IsValid() {
					name = strings.ToUpper(name)
				}
				got = append(got, name)
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("%s: %s, want %s: %s", name, text, tc.want, tc.reason)
			}
		}
	}
}
