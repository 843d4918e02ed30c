// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// testBatches copies traces to another archive: of one version, of several, and with amendments
// from before and after the end of the trace.
func testBatches(t *testing.T, open Open) {
	from := open(t)
	if _, err := from.Batches(t.Context(), trace.TraceID{1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an absent trace: %v", err)
	}
	whole := everything()
	again, early, late := *whole, *whole, *whole
	again.Outcome, again.Reason = span.Converged, "the second version"
	again.Spans = append(
		[]*span.Span{{TraceID: whole.ID, ID: trace.SpanID{1}, Start: spantest.At(5)}}, whole.Spans[:2]...)
	early.Spans = []*span.Span{{TraceID: whole.ID, ID: trace.SpanID{2}, Name: "early", Start: spantest.At(1)}}
	late.Spans = []*span.Span{
		{TraceID: whole.ID, ID: trace.SpanID{4}, Name: "late", Start: spantest.At(1)},
		{TraceID: whole.ID, ID: trace.SpanID{3}, Name: "late", Start: spantest.At(1)},
	}
	for _, b := range []*store.Batch{
		{Revision: 2, AsOf: asOf, Amendments: []*span.Trace{&early}},
		{Revision: 9, AsOf: asOf.Add(time.Minute), Finished: []*span.Trace{&again, change(7, 3)}},
		{Revision: 5, AsOf: asOf, Finished: []*span.Trace{whole, spantest.Apply()}},
		{Revision: 9, AsOf: asOf, Amendments: []*span.Trace{&late}},
	} {
		put(t, from, b)
	}
	to := open(t)
	for range 2 { // a repetition changes nothing
		for _, sum := range list(t, from, store.Query{}) {
			all, err := from.Batches(t.Context(), sum.ID)
			must(t, err)
			if len(all) == 0 || all[0].Revision != sum.Revision {
				t.Fatalf("the first batch of %s is not that of revision %d", sum.ID, sum.Revision)
			}
			for _, b := range all {
				put(t, to, b)
			}
			if d := diff(get(t, from, sum.ID), get(t, to, sum.ID)); d != "" {
				t.Errorf("-stored +copied:\n%s", d)
			}
			of, err := from.Causes(t.Context(), store.Scope{}, sum.ID)
			must(t, err)
			is, err := to.Causes(t.Context(), store.Scope{}, sum.ID)
			must(t, err)
			if d := diff(of, is); d != "" {
				t.Errorf("-stored edges +copied edges:\n%s", d)
			}
		}
	}
	before, after := stats(t, from), stats(t, to)
	before.Bytes, after.Bytes = 0, 0
	if d := diff(before, after); d != "" {
		t.Errorf("-stored +copied:\n%s", d)
	}
}
