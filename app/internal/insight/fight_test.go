// SPDX-License-Identifier: Apache-2.0

package insight_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// fought are the attributes of the n-th change in a fight over the fields.
func fought(n int64, seconds float64, opponents []string, fields ...string) []attribute.KeyValue {
	return []attribute.KeyValue{
		span.KeyFight.StringSlice(fields), span.KeyFightOpponents.StringSlice(opponents),
		span.KeyFightCount.Int64(n), span.KeyFightDuration.Float64(seconds),
	}
}

func TestFight(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		mark   func(t *span.Trace)
		want   string
	}{
		"None": {"no change is in a fight", func(*span.Trace) {}, ""},
		"Root": {"the root's object needs no name", func(t *span.Trace) {
			t.Root().Attributes = append(t.Root().Attributes, fought(5, 40.2, []string{"user-b"}, "spec.replicas")...)
		}, "spec.replicas with user-b, 5 times in 40s"},
		"Below": {"a command wrote the object", func(t *span.Trace) {
			t.Spans[1].Attributes = fought(1, 0.1, []string{"a", "b"}, "metadata.labels.tier", "spec.paused")
		}, "metadata.labels.tier and 1 more of Deployment web with a and b, once in 1s"},
		"Later": {"an amendment has a higher number", func(t *span.Trace) {
			t.Root().Attributes = append(t.Root().Attributes, fought(1, 3, []string{"user-b"}, "spec.replicas")...)
			amend := *t.Root()
			amend.Name, amend.Parent = span.NameAmend, t.Root().ID
			amend.Attributes = fought(700, 3700, []string{"user-c"}, "spec.replicas")
			t.Spans = append(t.Spans, &amend)
		}, "spec.replicas with user-c, 700 times in 1h1m40s"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := spantest.Apply()
			tc.mark(tr)
			if got := insight.Fight(tr); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
