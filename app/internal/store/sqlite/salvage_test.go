// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// exactly compares spans, attribute by attribute.
var exactly = []cmp.Option{cmpopts.EquateEmpty(), cmp.Transformer("value", func(v attribute.Value) any {
	return struct {
		Type  attribute.Type
		Value string
	}{v.Type(), v.String()}
})}

// renamed returns a story as another trace.
func renamed(t *span.Trace, id string) *span.Trace {
	t.ID = span.DeriveTraceID(id)
	for _, s := range t.Spans {
		s.TraceID = t.ID
	}
	return t
}

// varied writes stories, second versions and amendments, some of them before their trace.
func varied(t *testing.T, path string) {
	t.Helper()
	s := openAt(t, path)
	stories := []func() *span.Trace{
		spantest.Apply, spantest.CrashLoop, spantest.Rollout, spantest.Joined, spantest.Unschedulable,
		func() *span.Trace { return spantest.Many(8) },
	}
	for n := range 20 {
		b := &store.Batch{Revision: int64(n + 1), AsOf: spantest.At(n * 1000).Time}
		for i := range 4 {
			b.Finished = append(b.Finished, renamed(stories[(n+i)%len(stories)](), strconv.Itoa(n*4+i)))
		}
		late := func(of int, key string) *span.Trace {
			added := *b.Finished[0].Spans[0]
			added.TraceID = span.DeriveTraceID(strconv.Itoa(of))
			added.ID, added.Message = span.DeriveID(added.TraceID, key), key
			return &span.Trace{ID: added.TraceID, Outcome: span.Failed, Spans: []*span.Span{&added}}
		}
		switch n % 4 {
		case 1:
			b.Amendments = append(b.Amendments, late(n*4-3, "late"), late(n*4+5, "early"))
		case 2:
			b.Finished = append(b.Finished, late(n*4-4, "again"))
		}
		must(t, s.Write(t.Context(), b))
	}
	must(t, s.Pin(t.Context(), span.DeriveTraceID("7"), true))
	must(t, s.Close())
}

// records returns all finished traces of an archive.
func records(t *testing.T, s *sqlite.Store) map[trace.TraceID]*store.Record {
	t.Helper()
	page, err := s.List(t.Context(), store.Query{Limit: store.MaxPage})
	must(t, err)
	out := map[trace.TraceID]*store.Record{}
	for _, sum := range page.Traces {
		out[sum.ID], err = s.Trace(t.Context(), store.Scope{}, sum.ID)
		must(t, err)
	}
	return out
}

// salvaged copies the rest of a damaged file to a new archive.
func salvaged(t *testing.T, path string) (map[trace.TraceID]*store.Record, sqlite.Salvaged) {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "new.db"))
	defer func() { must(t, s.Close()) }()
	counts, err := sqlite.Salvage(t.Context(), path, 0, into(s))
	must(t, err)
	return records(t, s), counts
}

func into(s *sqlite.Store) func(context.Context, *sqlite.Part) error {
	return func(ctx context.Context, p *sqlite.Part) error {
		for _, b := range p.Batches {
			if err := s.Write(ctx, b); err != nil {
				return err
			}
		}
		for _, id := range p.Pinned {
			if err := s.Pin(ctx, id, true); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestSalvageIntact: without damage everything comes back.
func TestSalvageIntact(t *testing.T) {
	for name, create := range map[string]func(t *testing.T) string{
		"this version": func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "lifeline.db")
			varied(t, path)
			return path
		},
		"empty": func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "lifeline.db")
			must(t, openAt(t, path).Close())
			return path
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := create(t)
			before, err := os.ReadFile(path)
			must(t, err)
			got, counts := salvaged(t, path)
			after, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(before, after) {
				t.Error("the damaged file has changed")
			}
			s := openAt(t, path)
			want := records(t, s)
			if d := cmp.Diff(want, got, exactly...); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if counts.Traces != int64(len(want)) || counts.Lost != 0 || counts.Unreadable != 0 {
				t.Errorf("%+v of %d traces", counts, len(want))
			}
		})
	}
}

// TestSalvageDamaged damages files at many places. All traces whose rows are intact come back, and
// nothing else.
func TestSalvageDamaged(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 6
	}
	whole := filepath.Join(t.TempDir(), "lifeline.db")
	varied(t, whole)
	data, err := os.ReadFile(whole)
	must(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	must(t, os.WriteFile(copied, data, 0o600))
	want := records(t, openAt(t, copied))
	path := filepath.Join(t.TempDir(), "damaged.db")
	reference := referenceOf(t, whole)
	var sum sqlite.Salvaged
	unreadable, returned := 0, 0
	for round := range rounds {
		random := rand.New(rand.NewPCG(uint64(round), 0))
		must(t, os.WriteFile(path, damage(random, data), 0o600))
		intact := reference.intact(t, path)
		got, counts, err := salvagedFrom(t, path)
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) || strings.Contains(err.Error(), "\n") || len(intact) > 0 {
				t.Errorf("round %d: %v", round, err)
			}
			unreadable++
			continue
		}
		for id, r := range got {
			if want[id] == nil || text(t, want[id]) != text(t, r) {
				t.Errorf("round %d: a wrong trace (-want +got):\n%s", round, cmp.Diff(want[id], r, exactly...))
			}
		}
		for _, id := range intact {
			if got[id] == nil {
				t.Errorf("round %d: trace %s is intact and did not come back; %+v", round, id, counts)
			}
		}
		returned += len(got)
		sum.Lost += counts.Lost
		sum.Unreadable += counts.Unreadable
	}
	t.Logf("%d rounds with %d traces: %d came back, %+v; %d files without a schema",
		rounds, len(want), returned, sum, unreadable)
}

func text(t *testing.T, r *store.Record) string {
	t.Helper()
	data, err := json.Marshal(r)
	must(t, err)
	return string(data)
}

func salvagedFrom(t *testing.T, path string) (map[trace.TraceID]*store.Record, sqlite.Salvaged, error) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "new.db")
	s := openAt(t, to)
	defer func() { must(t, s.Close()) }()
	counts, err := sqlite.Salvage(t.Context(), path, 0, into(s))
	return records(t, s), counts, err
}

// damage returns a copy of a file with one to four places of damage.
func damage(random *rand.Rand, data []byte) []byte {
	const page = 4096
	out := bytes.Clone(data)
	pages := len(data) / page
	for range 1 + random.IntN(4) {
		at := random.IntN(len(out))
		switch random.IntN(6) {
		case 0: // one bit
			out[at] ^= 1 << random.IntN(8)
		case 1: // garbage
			for i := at; i < min(len(out), at+1+random.IntN(2*page)); i++ {
				out[i] = byte(random.Uint32())
			}
		case 2: // zeros
			clear(out[at:min(len(out), at+1+random.IntN(10*page))])
		case 3: // a page in the place of another
			from, to := random.IntN(pages), random.IntN(pages)
			copy(out[to*page:(to+1)*page], data[from*page:(from+1)*page])
		case 4: // an old state of a part of a page
			from := random.IntN(len(data) - 600)
			copy(out[at:min(len(out), at+600)], data[from:from+600])
		case 5: // cut off
			if random.IntN(3) == 0 {
				out = out[:max(page, at)]
				pages = len(out) / page
			}
		}
	}
	return out
}

// TestSalvageResumes continues after the last part that was kept.
func TestSalvageResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s := openAt(t, path)
	const traces = 5
	for n := range traces {
		must(t, s.Write(t.Context(), &store.Batch{
			Revision: int64(n + 1), AsOf: spantest.Epoch,
			Finished: []*span.Trace{renamed(spantest.Many(1500), strconv.Itoa(n))},
		}))
	}
	must(t, s.Close())
	seen, rollups, position, stop := map[trace.TraceID]int{}, 0, int64(0), errors.New("stop")
	for calls := 0; ; calls++ {
		kept := false
		_, err := sqlite.Salvage(t.Context(), path, position, func(_ context.Context, p *sqlite.Part) error {
			if kept {
				return stop
			}
			for _, b := range p.Batches {
				for _, tr := range b.Finished {
					seen[tr.ID]++
				}
				rollups += len(b.Rollups)
			}
			kept, position = true, p.Next
			return nil
		})
		if err == nil {
			break
		}
		if !errors.Is(err, stop) || calls > 2*traces {
			t.Fatalf("call %d: %v", calls, err)
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("trace %s came %d times", id, times)
		}
	}
	if len(seen) != traces || rollups != traces*store.MaxRollups {
		t.Errorf("%d traces and %d rollups came", len(seen), rollups)
	}
}

// TestSalvageRollups: the rollups of removed traces are in the new archive, apart from damaged ones.
func TestSalvageRollups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged")
	s := openAt(t, path)
	h := storetest.Year(30)
	b := &store.Batch{Revision: 1, AsOf: spantest.Epoch}
	for n := range 30 {
		b.Finished = append(b.Finished, h.Trace(n))
	}
	must(t, s.Write(t.Context(), b))
	_, err := s.Prune(t.Context(), store.Limits{Before: spantest.Epoch.Add(time.Hour)})
	must(t, err)
	must(t, s.DamageRollup(t.Context(), 7))
	must(t, s.Close())
	to := openAt(t, filepath.Join(t.TempDir(), "new"))
	for range 2 { // a repetition changes nothing
		got, err := sqlite.Salvage(t.Context(), path, 0, func(ctx context.Context, p *sqlite.Part) error {
			for _, b := range p.Batches {
				must(t, to.Write(ctx, b))
			}
			return nil
		})
		if err != nil || got.Traces != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		n := 0
		for _, err := range to.Rollups(t.Context(), store.RollupQuery{}) {
			must(t, err)
			n++
		}
		if n != 3*30-1 {
			t.Errorf("%d rollups, want those of the Deployments, ReplicaSets and Pods but one", n)
		}
	}
}

// TestSalvageNothing: a file without a schema is one error.
func TestSalvageNothing(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	varied(t, whole)
	data, err := os.ReadFile(whole)
	must(t, err)
	zeros := bytes.Clone(data)
	clear(zeros[100:4096])
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"garbage":     {bytes.Repeat([]byte("garbage!"), 2000), store.ErrDamaged},
		"empty":       {nil, store.ErrDamaged},
		"no schema":   {zeros, store.ErrDamaged},
		"header only": {data[:100], store.ErrDamaged},
	} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, tc.data, 0o600))
		_, err := sqlite.Salvage(t.Context(), path, 0, func(context.Context, *sqlite.Part) error { return nil })
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "none")
	if _, err := sqlite.Salvage(t.Context(), path, 0, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
