// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/questiontest"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Recordings stores the traces of package lifecycle from recordings of real clusters, look by look.
// The final content must equal the engine's output.
func Recordings(t *testing.T, open Open, paths []string) {
	t.Helper()
	if len(paths) == 0 {
		t.Fatal("no recordings")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			w := &replay{
				store: open(t), engine: lifecycle.New(lifecycle.Options{Cluster: "recorded"}),
				want: map[trace.TraceID]*span.Trace{},
			}
			w.recording(t, path)
			got := list(t, w.store, store.Query{Limit: store.MaxPage})
			if len(got) != len(w.want) {
				t.Errorf("stored %d traces, want %d", len(got), len(w.want))
			}
			for _, sum := range got {
				if d := diff(w.want[sum.ID], get(t, w.store, sum.ID).Trace); d != "" {
					t.Errorf("-handed out +stored:\n%s", d)
				}
			}
			w.questions(t)
		})
	}
}

// replay writes to a store as a server does.
type replay struct {
	store    store.Archive
	engine   *lifecycle.Engine
	revision int64
	want     map[trace.TraceID]*span.Trace
	// lifecycles are those of the finished traces, without amendments.
	lifecycles []store.Lifecycle
}

// questions compares the lifecycles in the store with those in memory, and their answers to random
// questions.
func (r *replay) questions(t *testing.T) {
	t.Helper()
	store.Finish(r.lifecycles)
	slices.SortFunc(r.lifecycles, newestFirst)
	now := asOf
	if len(r.lifecycles) > 0 {
		now = r.lifecycles[0].Start
	}
	all := store.FindQuery{Now: now, Since: time.Unix(1, 0), Limit: store.MaxPage}
	if d := sameLifecycles(r.lifecycles, find(t, r.store, all)); d != "" {
		t.Errorf("lifecycles: -in memory +stored:\n%s", d)
	}
	random := rand.New(rand.NewPCG(4, 0)) //nolint:gosec // a repeatable test
	for range 40 {
		q, err := question.Parse(questiontest.Expression(random, 1+random.IntN(4)))
		if err != nil {
			continue // too long
		}
		one := all
		one.Where = q
		if d := sameLifecycles(selected(r.lifecycles, one), find(t, r.store, one)); d != "" {
			t.Errorf("%s: -in memory +stored:\n%s", q, d)
		}
	}
}

func (r *replay) recording(t *testing.T, path string) {
	t.Helper()
	in, err := observation.Open(path)
	must(t, err)
	defer in.Close()
	const every, settled = 200 * time.Millisecond, 2 * time.Minute
	var tick, last time.Time
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if o.Seen.Sub(tick) > every {
			r.look(t, o.Seen)
			tick = o.Seen
		}
		r.engine.Observe(o)
		if o.Seen.After(last) {
			last = o.Seen
		}
	}
	r.look(t, last)
	end := last.Add(settled)
	r.look(t, end)
	// The recording ends: open traces end as unfinished.
	r.revision++
	b := &store.Batch{Revision: r.revision, AsOf: end, Finished: r.engine.Traces(end)}
	r.finish(b)
	put(t, r.store, b)
}

// finish notes the finished traces of a batch.
func (r *replay) finish(b *store.Batch) {
	for _, tr := range b.Finished {
		r.want[tr.ID] = tr
		r.lifecycles = append(r.lifecycles, store.LifecyclesOf(tr, b.AsOf)...)
	}
}

// look stores the traces that the engine hands out.
func (r *replay) look(t *testing.T, now time.Time) {
	t.Helper()
	r.revision++
	b := &store.Batch{
		Revision:   r.revision,
		AsOf:       now,
		Finished:   r.engine.Take(now),
		Amendments: r.engine.Amendments(),
	}
	r.finish(b)
	for _, late := range b.Amendments {
		whole := *r.want[late.ID]
		whole.Spans = append(whole.Spans[:len(whole.Spans):len(whole.Spans)], late.Spans...)
		r.want[late.ID] = &whole
	}
	put(t, r.store, b)
}
