// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// failing is a store whose first writes fail with err.
type failing struct {
	store.Store
	times int
	err   error
}

func (f *failing) Write(ctx context.Context, b *store.Batch) error {
	if f.times > 0 {
		f.times--
		return f.err
	}
	return f.Store.Write(ctx, b)
}

func openSQLite(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func keepAll() sampling { return sampling{ratePerMillion: 1_000_000} }

func begin(t *testing.T, stores ...store.Store) *restored {
	t.Helper()
	l, err := openLedger(t.Context(), func(context.Context) (store.Store, error) {
		if len(stores) == 0 {
			return nil, errors.New("no store is left")
		}
		st := stores[0]
		stores = stores[1:]
		if st == nil {
			return nil, store.ErrFull
		}
		return st, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := restore(
		t.Context(),
		l,
		recorderOptions{Engine: lifecycle.Options{Cluster: "recorded"}, Sampling: keepAll, Warn: quietly},
		forever,
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A look that cannot be stored is stored by the next call, with nothing of it
// lost, and nothing is taken in meanwhile.
func TestFullDisk(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	calm := play(t, seen, nil)
	st := &failing{Store: openSQLite(t, filepath.Join(t.TempDir(), "a.db")), err: store.ErrFull}
	r := begin(t, st)
	for i, o := range seen {
		if i%20 == 19 {
			st.times = 2
			for tries := 0; ; tries++ {
				err := r.look(t.Context(), o.Seen)
				if err == nil {
					if tries != 2 || r.blocked() {
						t.Fatalf("stored after %d failures (blocked %t), want 2", tries, r.blocked())
					}
					break
				}
				if !errors.Is(err, store.ErrFull) || !r.blocked() {
					t.Fatalf("error %v, blocked %t: want a full disk that blocks", err, r.blocked())
				}
			}
		}
		r.observe(o)
	}
	finish(t, r, seen[len(seen)-1].Seen)
	if d := cmp.Diff(len(calm.traces), count(t, st)); d != "" {
		t.Errorf("traces, -undisturbed +full disk:\n%s", d)
	}
}

// A damaged store is replaced by a new one with a full snapshot. Open traces continue there, also
// after a restart.
func TestDamagedStore(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	path := filepath.Join(t.TempDir(), "new.db")
	first := &failing{Store: openSQLite(t, filepath.Join(t.TempDir(), "old.db")), err: store.ErrDamaged}
	second := openSQLite(t, path)
	// The first attempt to open it again fails, for example for lack of space.
	r := begin(t, first, nil, second)
	at := watch.Position{Version: "42"}
	at.Resource.Resource, at.Resource.Version = "pods", "v1"
	r.reach(at)
	half := len(seen) / 2
	for _, o := range seen[:half] {
		r.observe(o)
	}
	now := seen[half-1].Seen
	if err := r.look(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	open := len(r.open)
	r.observe(seen[half])
	first.times = 1
	if err := r.look(t.Context(), now.Add(time.Millisecond)); !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("error %v, want that the store is damaged", err)
	}
	for tries := 0; ; tries++ {
		err := r.look(t.Context(), now.Add(time.Millisecond))
		if err == nil {
			break
		}
		if tries == 3 {
			t.Fatalf("the store cannot be opened again: %v", err)
		}
	}
	if chunks, err := second.States(t.Context(), journalState); err != nil || len(chunks) != 0 {
		t.Errorf("%d chunks (%v) are in the journal beside an engine that contains them", len(chunks), err)
	}
	if err := r.look(t.Context(), now.Add(2*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if open == 0 || len(r.open) < open {
		t.Fatalf("%d traces are open in the new store, %d were in the old one", len(r.open), open)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	again := begin(t, openSQLite(t, path))
	if again.discarded != nil || len(again.open) != len(r.open) {
		t.Errorf("restored with %d open traces (%v), want %d", len(again.open), again.discarded, len(r.open))
	}
	if d := cmp.Diff([]watch.Position{at}, again.positions()); d != "" {
		t.Errorf("positions -want +got:\n%s", d)
	}
}

// The position of a deleted resource is not kept. A restored resource starts with a new list.
func TestResourceIsGone(t *testing.T) {
	st := openSQLite(t, filepath.Join(t.TempDir(), "a.db"))
	r := begin(t, st)
	pods := watch.Position{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Version: "42"}
	heads := watch.Position{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "heads"},
		Version:  "43",
	}
	gone := heads
	gone.Version = ""
	back := heads
	back.Version = "50"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, step := range []struct {
		reason  string
		reached []watch.Position
		want    []watch.Position
	}{
		{"both are there", []watch.Position{pods, heads}, []watch.Position{pods, heads}},
		{"one is deleted", []watch.Position{gone}, []watch.Position{pods}},
		{"it is back", []watch.Position{back}, []watch.Position{pods, back}},
		{"it is deleted at once", []watch.Position{heads, gone}, []watch.Position{pods}},
		{"it is deleted and back at once", []watch.Position{gone, back}, []watch.Position{pods, back}},
	} {
		for _, p := range step.reached {
			r.reach(p)
		}
		if err := r.look(t.Context(), now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		states, err := st.States(t.Context(), watchState)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{}
		for _, p := range step.want {
			want[watchState+p.Key()] = []byte(p.String())
		}
		if d := cmp.Diff(want, states); d != "" {
			t.Errorf("%s: -want +got:\n%s", step.reason, d)
		}
		if len(r.positions()) != len(step.want) {
			t.Errorf("%s: it resumes at %v", step.reason, r.positions())
		}
	}
}

// What an engine of another version has left cannot be restored: what it had
// open ends once the cluster has been read and it did not come up again.
func TestBeginsAnew(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	st := openSQLite(t, filepath.Join(t.TempDir(), "a.db"))
	r := begin(t, st)
	half := len(seen) / 2
	for _, o := range seen[:half] {
		r.observe(o)
	}
	now := seen[half-1].Seen
	r.save = true
	if err := r.look(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	open := len(r.open)
	if open == 0 {
		t.Fatal("nothing is open")
	}
	if err := r.ledger.commit(
		t.Context(),
		&store.Batch{AsOf: now, State: map[string][]byte{engineState: []byte("of another version")}},
	); err != nil {
		t.Fatal(err)
	}
	again := begin(t, st)
	if again.discarded == nil || len(again.orphans.traces) != open || len(again.at) != 0 {
		t.Fatalf(
			"discarded for %v with %d orphans and %d positions, want %d and 0",
			again.discarded,
			len(again.orphans.traces),
			len(again.at),
			open,
		)
	}
	if err := again.look(t.Context(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := stats(t, st).Open; got != int64(open) {
		t.Errorf("%d traces are open before the cluster was read, want %d", got, open)
	}
	again.orphans.since = now.Add(time.Hour)
	if err := again.look(t.Context(), now.Add(time.Hour+2*orphanWait)); err != nil {
		t.Fatal(err)
	}
	if got := stats(t, st).Open; got != 0 {
		t.Errorf("%d traces are open after that, want 0", got)
	}
	page, err := st.List(t.Context(), store.Query{Outcomes: []span.Outcome{span.Unfinished}})
	if err != nil || len(page.Traces) != open || page.Traces[0].Reason != orphanReason {
		t.Errorf("unfinished are %v (%v), want %d with a reason", page, err, open)
	}
}

// damaged is a store with a trace that cannot be read.
type damaged struct {
	store.Store
	id trace.TraceID
}

func (d *damaged) Trace(ctx context.Context, id trace.TraceID) (*store.Record, error) {
	if id == d.id {
		return nil, store.ErrDamaged
	}
	return d.Store.Trace(ctx, id)
}

// An unreadable open trace does not keep the server from starting. One that the engine does not
// have either is withdrawn.
func TestDamagedTrace(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	half := len(seen) / 2
	for name, engine := range map[string][]byte{
		"known to the engine": nil,
		"known to no engine":  []byte("of another version"),
	} {
		t.Run(name, func(t *testing.T) {
			st := openSQLite(t, filepath.Join(t.TempDir(), "a.db"))
			j := &joined{st: st}
			j.start(t)
			for _, o := range seen[:half] {
				j.observe(o)
			}
			now := seen[half-1].Seen
			j.save = true
			j.mustLook(t, now)
			bad := &damaged{Store: st}
			for bad.id = range j.open {
				break
			}
			if engine != nil {
				if err := j.ledger.commit(
					t.Context(),
					&store.Batch{AsOf: now, State: map[string][]byte{engineState: engine}},
				); err != nil {
					t.Fatal(err)
				}
			}
			j.st = bad
			j.start(t)
			j.mustLook(t, now.Add(time.Millisecond))
			_, open := j.open[bad.id]
			if _, err := st.Trace(
				t.Context(),
				bad.id,
			); open != (engine == nil) ||
				errors.Is(err, store.ErrNotFound) != (engine != nil) {
				t.Errorf("open: %t (%v)", open, err)
			}
		})
	}
}

// A journal with other engine options is replayed with its own options.
func TestOtherOptions(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	calm := play(t, seen, nil)
	path := filepath.Join(t.TempDir(), "a.db")
	st := openSQLite(t, path)
	r := begin(t, st)
	half := len(seen) / 2
	for i, o := range seen[:half] {
		if i%10 == 9 {
			if err := r.look(t.Context(), o.Seen); err != nil {
				t.Fatal(err)
			}
		}
		r.observe(o)
	}
	if err := r.look(t.Context(), seen[half-1].Seen); err != nil {
		t.Fatal(err)
	}
	r2, err := restore(
		t.Context(),
		r.ledger,
		recorderOptions{
			Engine:   lifecycle.Options{Cluster: "recorded", Settle: time.Minute},
			Sampling: keepAll,
			Warn:     quietly,
		},
		forever,
	)
	if err != nil || r2.discarded != nil {
		t.Fatal(err, r2.discarded)
	}
	for _, o := range seen[half:] {
		r2.observe(o)
	}
	finish(t, r2, seen[len(seen)-1].Seen)
	if got := count(t, st); got != len(calm.traces) {
		t.Errorf("%d traces, want %d", got, len(calm.traces))
	}
}

func finish(t *testing.T, r *restored, end time.Time) {
	t.Helper()
	for _, later := range []time.Duration{0, 3 * time.Second, 2 * time.Minute, 3 * time.Minute, 2 * time.Hour} {
		if err := r.look(t.Context(), end.Add(later)); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, st store.Store) int {
	t.Helper()
	return int(stats(t, st).Traces)
}

func stats(t *testing.T, st store.Store) store.Stats {
	t.Helper()
	out, err := st.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// State with a time far in the future is not resumed: the clock would stand still for years.
func TestStoredInTheFuture(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	st := openSQLite(t, filepath.Join(t.TempDir(), "a.db"))
	r := begin(t, st)
	at := watch.Position{Version: "42"}
	at.Resource.Resource, at.Resource.Version = "pods", "v1"
	r.reach(at)
	for _, o := range seen {
		r.observe(o)
	}
	now := seen[len(seen)-1].Seen
	if err := r.look(t.Context(), now.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	again, err := restore(t.Context(), r.ledger, r.recorderOptions, now)
	if err != nil || again.discarded == nil || !again.last.IsZero() {
		t.Fatalf("restored (%v) for %v at %s, want a new engine", err, again.discarded, again.last)
	}
	if err := again.look(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if left, err := st.States(t.Context(), watchState); err != nil || len(left) != 0 {
		t.Errorf("positions %v (%v) are left for an empty engine", left, err)
	}
}
