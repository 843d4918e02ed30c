// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestSampling(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	low, high := trace.TraceID{15: 1}, trace.TraceID{8: 0xff, 15: 1}
	for name, c := range map[string]struct {
		reason   string
		sampling sampling
		id       trace.TraceID
		outcome  span.Outcome
		took     time.Duration
		parent   []attribute.KeyValue
		want     bool
	}{
		"All": {
			reason:   "a rate of a million keeps all",
			sampling: sampling{ratePerMillion: 1_000_000},
			id:       high,
			want:     true,
		},
		"None": {reason: "a rate of none keeps none", id: low},
		"Low": {
			reason:   "a low ID is within the ratio",
			sampling: sampling{ratePerMillion: 1000},
			id:       low,
			want:     true,
		},
		"High": {reason: "a high ID is not", sampling: sampling{ratePerMillion: 1000}, id: high},
		"Failed": {
			reason:   "failures are kept at any rate",
			sampling: sampling{failed: true},
			id:       high,
			outcome:  span.Failed,
			want:     true,
		},
		"FailedUnwanted": {reason: "unless that is off", id: high, outcome: span.Failed},
		"Slow": {
			reason:   "slow ones are kept at any rate",
			sampling: sampling{slower: time.Second},
			id:       high,
			took:     time.Second,
			want:     true,
		},
		"Quick": {
			reason:   "quick ones are not",
			sampling: sampling{slower: time.Second},
			id:       high,
			took:     time.Second - 1,
		},
		"ParentSampled": {
			reason: "a parent that is sampled has decided",
			id:     high,
			parent: sampledParent(true),
			want:   true,
		},
		"ParentUnsampled": {
			reason:   "a parent that is not has decided, too",
			sampling: sampling{ratePerMillion: 1_000_000},
			id:       low,
			parent:   sampledParent(false),
		},
		"ParentUnknown": {
			reason:   "a parent without a known flag is not sampled",
			sampling: sampling{ratePerMillion: 1_000_000},
			id:       high,
			parent:   []attribute.KeyValue{},
			want:     true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := &span.Span{TraceID: c.id, Start: span.Time{Time: began}, End: span.Time{Time: began.Add(c.took)}}
			if c.parent != nil {
				root.RemoteParent, root.Parent, root.Attributes = true, trace.SpanID{1}, c.parent
			}
			tr := &span.Trace{ID: c.id, Outcome: c.outcome, Spans: []*span.Span{root}}
			if got := c.sampling.keeps(tr, began.Add(time.Hour)); got != c.want {
				t.Errorf("%s: kept %t, want %t", c.reason, got, c.want)
			}
		})
	}
}

func sampledParent(sampled bool) []attribute.KeyValue {
	return []attribute.KeyValue{span.KeyParentSampled.Bool(sampled)}
}

// The ratio is OpenTelemetry's: about that share of random IDs is kept, and what
// a low rate keeps a higher one keeps, too.
func TestSamplingRatio(t *testing.T) {
	kept := 0
	const n = 100_000
	for i := range uint64(n) {
		var id trace.TraceID
		binary.BigEndian.PutUint64(id[8:], i*0x9e3779b97f4a7c15)
		few, more := sampling{ratePerMillion: 250_000}.byRatio(id), sampling{ratePerMillion: 300_000}.byRatio(id)
		if few && !more {
			t.Fatalf("trace %s is kept at a rate of 250,000 and not at 300,000", id)
		}
		if few {
			kept++
		}
	}
	if kept < n*24/100 || kept > n*26/100 {
		t.Errorf("%d of %d kept, want a quarter", kept, n)
	}
}
