// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// failing returns a failed trace, and a new claim about its root and the whole.
func failing(n int) (failed, recovered *span.Trace) {
	failed = change(n, 3)
	failed.Outcome, failed.Reason = span.Failed, "exceeded its progress deadline"
	failed.Spans[0].Outcome, failed.Spans[0].Status = span.Failed, span.StatusError
	root := failed.Root()
	at := span.Time{Time: root.End.Add(5 * time.Minute)}
	claim := &span.Span{
		TraceID: failed.ID, ID: span.DeriveID(failed.ID, "claim"), Parent: root.ID, Name: span.NameAmend,
		Service: root.Service, Object: root.Object, Start: at, End: at, Outcome: span.Converged,
		Attributes: []attribute.KeyValue{span.KeyClaim.Int(2), span.KeyTraceOutcome.String(string(span.Converged))},
	}
	return failed, &span.Trace{ID: failed.ID, Spans: []*span.Span{claim}}
}

// testClaims: a new claim about the outcome of a finished trace counts everywhere, in any order of the batches.
func testClaims(t *testing.T, open Open) {
	failed, recovered := failing(1)
	first, then := batch(1), batch(2)
	first.Finished, then.Amendments = []*span.Trace{failed}, []*span.Trace{recovered}
	other := change(2, 3)
	first.Finished = append(first.Finished, other)
	var want map[string]any
	for name, batches := range map[string][]*store.Batch{
		"in order": {first, then}, "before": {then, first}, "again": {first, then, first, then},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, b := range batches {
				put(t, s, b)
			}
			got := get(t, s, failed.ID)
			if got.Outcome != span.Converged || got.Was != span.Failed || got.Trace.Outcome != span.Converged ||
				got.Reason != failed.Reason || got.Duration != failed.Root().Duration(asOf) ||
				!got.SettledAt.Equal(recovered.Spans[0].Start.Time) {
				t.Errorf("got %+v", got.Summary)
			}
			if root := got.Trace.Root(); root.Outcome != span.Converged || root.Status != span.StatusUnset {
				t.Errorf("the root is %s", root.Outcome)
			}
			if n := len(list(t, s, store.Query{Outcomes: []span.Outcome{span.Failed}})); n > 0 {
				t.Errorf("%d traces are listed as failed", n)
			}
			recoveries := where(t, `was == "failed" && outcome == "converged"`)
			found := find(t, s, store.FindQuery{Now: asOf, Where: recoveries})
			if len(found) != 1 || found[0].Trace != failed.ID {
				t.Errorf("found %+v", found)
			}
			if all := contents(t, s); want == nil {
				want = all
			} else if d := diff(want, all); d != "" {
				t.Errorf("-other order +got:\n%s", d)
			}
			// A copy has the first claims, too.
			var copied []*store.Batch
			for _, id := range []*span.Trace{failed, other} {
				of, err := s.(store.Copier).Batches(t.Context(), id.ID)
				if err != nil {
					t.Fatal(err)
				}
				copied = append(copied, of...)
			}
			slices.Reverse(copied) // the valid version of a trace need not be the first
			to := open(t)
			for _, b := range copied {
				put(t, to, b)
			}
			if d := diff(want, contents(t, to)); d != "" {
				t.Errorf("-want +copy:\n%s", d)
			}
		})
	}
}
