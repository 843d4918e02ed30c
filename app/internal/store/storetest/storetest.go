// SPDX-License-Identifier: Apache-2.0

// Package storetest is the contract of package store as a suite of tests and benchmarks for every
// engine. Tests of an engine's files belong to the engine.
package storetest

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Open creates an empty archive for one test, and closes it at the end.
type Open func(t testing.TB) store.Archive

// Run tests an engine.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"Lossless": testLossless, "Summary": testSummary, "Invalid": testInvalid, "Closed": testClosed,
		"Versions": testVersions, "Claims": testClaims, "Order": testOrder, "Amendments": testAmendments,
		"Aftermaths": testAftermaths, "Filters": testFilters, "Density": testDensity, "Pages": testPages,
		"PagesWhileWriting": testPagesWhileWriting, "Scope": testScope, "Writes": testWrites,
		"Causes": testCauses, "Between": testBetween,
		"PruneByAge": testPruneByAge, "PruneBySize": testPruneBySize, "PruneByOutcome": testPruneByOutcome,
		"Pin": testPin, "Forget": testForget, "Batches": testBatches,
		"RollupVersions": testRollupVersions, "RollupsKept": testRollupsKept, "RollupsForgotten": testRollupsForgotten,
		"Cancelled": testCancelled, "Concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// asOf is the default time of a batch.
var asOf = spantest.Epoch.Add(time.Hour)

func batch(revision int64) *store.Batch { return &store.Batch{Revision: revision, AsOf: asOf} }

func put(t testing.TB, s store.Archive, b *store.Batch) {
	t.Helper()
	must(t, s.Write(t.Context(), b))
}

func get(t testing.TB, s store.Archive, id trace.TraceID) *store.Record {
	t.Helper()
	r, err := s.Trace(t.Context(), store.Scope{}, id)
	must(t, err)
	return r
}

func list(t testing.TB, s store.Archive, q store.Query) []store.Summary {
	t.Helper()
	page, err := s.List(t.Context(), q)
	must(t, err)
	return page.Traces
}

func stats(t testing.TB, s store.Archive) store.Stats {
	t.Helper()
	out, err := s.Stats(t.Context(), store.Scope{})
	must(t, err)
	return out
}

// exactly compares stored spans, attribute by attribute.
var exactly = gocmp.Transformer("value", func(v attribute.Value) any {
	return struct {
		Type  attribute.Type
		Value string
	}{v.Type(), v.String()}
})

// diff treats a nil list as an empty one.
func diff(want, got any) string { return gocmp.Diff(want, got, exactly, cmpopts.EquateEmpty()) }

// change returns the n-th finished trace. It starts n seconds after Epoch and takes 100 ms for each
// span.
func change(n, spans int) *span.Trace {
	name := "change-" + number(n)
	b := spantest.New(name)
	at := n * 1000
	ref := spantest.Ref("apps", "Deployment", name)
	root := b.Add(nil, "reconcile Deployment",
		"deployment-controller", ref, at, at+100*spans, span.KeyActor.String("kubectl"))
	root.Outcome = span.Converged
	root.Events = []span.Event{{Time: root.Start.Time, Name: span.EventWrite}}
	spantest.Write(root, span.Write{
		Verb: "update", Part: "desired", ResourceVersion: int64(1000 + n), Actor: "kubectl",
		Start: root.Start.Time, End: root.Start.Time,
	})
	for i := 1; i < spans; i++ {
		pod := b.Add(root, "reconcile Pod",
			"kubelet", spantest.Ref("", "Pod", name+"-"+number(i)), at+i, at+100*i, span.KeyNode.String("node-1"))
		pod.Outcome = span.Converged
	}
	return b.Trace
}

func number(n int) string {
	const digits = "0123456789"
	var out []byte
	for range 6 {
		out = append(out, digits[n%10])
		n /= 10
	}
	slices.Reverse(out)
	return string(out)
}

// unfinish returns a copy of t that ended as unfinished: its last span and its root are open.
func unfinish(t *span.Trace) *span.Trace {
	out := *t
	out.Outcome, out.Reason = span.Unfinished, "waiting"
	out.Spans = slices.Clone(t.Spans)
	for _, i := range []int{0, len(out.Spans) - 1} {
		s := *out.Spans[i]
		s.End, s.Outcome = span.Time{}, ""
		out.Spans[i] = &s
	}
	return &out
}

// without returns a copy of t without its last n spans.
func without(t *span.Trace, n int) *span.Trace {
	out := *t
	out.Spans = t.Spans[:len(t.Spans)-n]
	return &out
}

// amendment returns a trace with one amending span below the root of t.
func amendment(t *span.Trace, key string) *span.Trace {
	root := t.Root()
	s := &span.Span{
		TraceID: t.ID,
		ID:      span.DeriveID(t.ID, "late", key),
		Parent:  root.ID,
		Name:    span.NameLate,
		Service: root.Service,
		Object:  root.Object,
		Start:   root.End,
		End:     root.End,
		Events:  []span.Event{{Time: root.End.Time, Name: key}},
	}
	return &span.Trace{ID: t.ID, Spans: []*span.Span{s}}
}

// names returns the objects of summaries, in order, without "change-".
func names(traces []store.Summary) string {
	out := make([]string, len(traces))
	for i, t := range traces {
		out[i] = strings.TrimLeft(strings.TrimPrefix(cmp.Or(t.Object.Name, t.Name), "change-"), "0")
	}
	return strings.Join(out, " ")
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
