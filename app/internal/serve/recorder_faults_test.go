// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/filelock"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// A look that cannot be stored is stored by the next call, with nothing of it
// lost, and nothing is taken in meanwhile.
func TestFullDisk(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	calm := play(t, seen, nil)
	w := newWorld(t, t.TempDir())
	st := &failing{ledger: w.Journal, err: store.ErrFull}
	r := w.restoreOver(t, st, recorderOptions{})
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
	if d := cmp.Diff(len(calm.traces), count(t, w)); d != "" {
		t.Errorf("traces, -undisturbed +full disk:\n%s", d)
	}
}

// A damaged journal is replaced by a new one with a full snapshot. Open traces continue there, also
// after a restart.
func TestDamagedStore(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	dir := t.TempDir()
	w, r := begin(t, dir)
	at := watch.Position{Version: "42"}
	at.Resource.Resource, at.Resource.Version = "pods", "v1"
	r.reach(at)
	half := len(seen) / 2
	for _, o := range seen[:half] {
		r.observe(o)
	}
	now := seen[half-1].Seen
	must(t, r.look(t.Context(), now))
	open := len(r.open)
	r.observe(seen[half])
	// The first attempts to open it again fail: another process has the lock.
	path := journalFile(dir)
	must(t, os.Remove(path))
	must(t, os.Remove(path+".lock"))
	other, err := os.Create(path + ".lock")
	must(t, err)
	defer other.Close()
	must(t, filelock.Try(other))
	for range 2 {
		if err := r.look(t.Context(), now.Add(time.Millisecond)); !errors.Is(err, store.ErrInUse) || !r.blocked() {
			t.Fatalf("error %v, blocked %t: want that the journal cannot be opened", err, r.blocked())
		}
	}
	must(t, other.Close())
	if err := r.look(t.Context(), now.Add(time.Millisecond)); !errors.Is(err, journal.ErrRenewed) {
		t.Fatalf("error %v, want a new journal", err)
	}
	must(t, r.look(t.Context(), now.Add(time.Millisecond)))
	if chunks := w.states(t, inputState); len(chunks) != 0 {
		t.Errorf("%d chunks are beside an engine that contains them", len(chunks))
	}
	must(t, r.look(t.Context(), now.Add(2*time.Millisecond)))
	if open == 0 || len(r.open) < open {
		t.Fatalf("%d traces are open with the new journal, %d were before", len(r.open), open)
	}
	w.end()
	_, again := begin(t, dir)
	must(t, again.look(t.Context(), now.Add(3*time.Millisecond)))
	if again.discarded != nil || len(again.open) != len(r.open) {
		t.Errorf("restored with %d open traces (%v), want %d", len(again.open), again.discarded, len(r.open))
	}
	if d := cmp.Diff([]watch.Position{at}, again.positions()); d != "" {
		t.Errorf("positions -want +got:\n%s", d)
	}
}

// The engine replaces long inputs after the look is stored. If it cannot be stored, nothing else
// changes: the inputs continue, and a restart replays them.
func TestLongInputs(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	half := len(seen) / 2
	for name, c := range map[string]struct {
		reason string
		err    error
		chunks int
	}{
		"Saved":    {"the engine has the inputs", nil, 0},
		"FullDisk": {"the inputs stay", store.ErrFull, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := newWorld(t, dir)
			st := &failing{ledger: w.Journal, err: c.err}
			r := w.restoreOver(t, st, recorderOptions{})
			must(t, r.look(t.Context(), seen[0].Seen)) // saves the new engine
			for _, o := range seen[:half] {
				r.observe(o)
			}
			must(t, r.look(t.Context(), seen[half-1].Seen))
			if r.long() {
				t.Fatal("the inputs of one look are long")
			}
			r.inputs.bytes = minInputs + 1 + r.inputs.saved
			if !r.long() {
				t.Fatal("the inputs are not long")
			}
			if c.err != nil {
				st.times = 1
			}
			if err := r.replaceInputs(t.Context()); !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if r.blocked() {
				t.Error("a look waits")
			}
			if got := w.states(t, inputState); len(got) != c.chunks {
				t.Errorf("%d chunks are stored, want %d: %s", len(got), c.chunks, c.reason)
			}
			open := len(r.open)
			w.end()
			_, again := begin(t, dir)
			must(t, again.look(t.Context(), seen[half-1].Seen.Add(time.Millisecond)))
			if again.discarded != nil || open == 0 || len(again.open) != open {
				t.Errorf("restored with %d open traces (%v), want %d", len(again.open), again.discarded, open)
			}
			if want := half * c.chunks; again.observations != want {
				t.Errorf("%d observations are replayed, want %d", again.observations, want)
			}
		})
	}
}

// The position of a deleted resource is not kept. A restored resource starts with a new list.
func TestResourceIsGone(t *testing.T) {
	w, r := begin(t, t.TempDir())
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
		states := w.states(t, watchState)
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
	dir := t.TempDir()
	w, r := begin(t, dir)
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
	w.set(t, engineState, []byte("of another version"))
	w.end()
	w, again := begin(t, dir)
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
	if got := len(w.open(t)); got != open {
		t.Errorf("%d traces are open before the cluster was read, want %d", got, open)
	}
	again.orphans.since = now.Add(time.Hour)
	if err := again.look(t.Context(), now.Add(time.Hour+2*orphanWait)); err != nil {
		t.Fatal(err)
	}
	if got := len(w.open(t)); got != 0 {
		t.Errorf("%d traces are open after that, want 0", got)
	}
	ended := w.list(t, store.Query{Outcomes: []span.Outcome{span.Unfinished}})
	if len(ended) != open || ended[0].Reason != orphanReason {
		t.Errorf("unfinished are %v, want %d with a reason", ended, open)
	}
	w.end()
	w, again = begin(t, dir) // they do not come again
	must(t, again.look(t.Context(), now.Add(2*time.Hour)))
	if got := len(w.open(t)); got != 0 || len(w.list(t, store.Query{})) != open {
		t.Errorf("%d traces are open after a restart, want 0", got)
	}
}

// Damaged open traces do not keep the server from starting. With the engine they are not needed.
// Without it, the traces before the damage are orphans and the others are lost, with a warning.
func TestDamagedTrace(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	half := len(seen) / 2
	for name, engine := range map[string][]byte{
		"known to the engine": nil,
		"known to no engine":  []byte("of another version"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w, r := begin(t, dir)
			for _, o := range seen[:half] {
				r.observe(o)
			}
			now := seen[half-1].Seen
			r.save = true
			must(t, r.look(t.Context(), now))
			if len(r.open) == 0 {
				t.Fatal("nothing is open")
			}
			good := span.PackTrace(r.open[0])
			data := append(binary.AppendUvarint(nil, uint64(len(good))), good...)
			w.set(t, openState, append(data, 200, 1, 2, 3))
			if engine != nil {
				w.set(t, engineState, engine)
			}
			want := w.open(t)
			if engine != nil {
				want = []string{r.open[0].ID.String()}
			}
			w.end()
			w = newWorld(t, dir)
			warnings := 0
			r = w.restore(t, recorderOptions{Warn: func(string, ...any) { warnings++ }})
			must(t, r.look(t.Context(), now.Add(time.Millisecond)))
			if d := cmp.Diff(want, w.open(t)); d != "" {
				t.Errorf("open traces -want +got:\n%s", d)
			}
			if (warnings > 0) != (engine != nil) {
				t.Errorf("%d warnings", warnings)
			}
		})
	}
}

// An engine that cannot be restored leaves traces that had finished since it was saved as they are.
func TestOrphansThatHaveFinished(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	dir := t.TempDir()
	w, r := begin(t, dir)
	half := len(seen) / 2
	for _, o := range seen[:half] {
		r.observe(o)
	}
	r.save = true
	must(t, r.look(t.Context(), seen[half-1].Seen))
	open := w.open(t)
	for _, o := range seen[half:] {
		r.observe(o)
	}
	end := seen[len(seen)-1].Seen
	finish(t, r, end)
	want := w.list(t, store.Query{})
	if left := len(w.open(t)); len(open) == 0 || left > 0 {
		t.Fatalf("%d traces were open, %d still are", len(open), left)
	}
	w.set(t, inputName(r.inputs.next-1), []byte("damaged"))
	w.end()

	w, r = begin(t, dir)
	if r.discarded == nil {
		t.Fatal("the engine was restored")
	}
	r.orphans.since = end
	must(t, r.look(t.Context(), end.Add(3*time.Hour)))
	must(t, r.look(t.Context(), end.Add(4*time.Hour)))
	if d := cmp.Diff(
		want,
		w.list(t, store.Query{}),
		cmpopts.IgnoreFields(store.Summary{}, "AsOf", "Revision"),
	); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
	items, err := w.Pending(t.Context(), journal.Sender)
	if err != nil || len(items) > 0 {
		t.Errorf("%d entries (%v) are to be sent again", len(items), err)
	}
}

// A journal with other engine options is replayed with its own options.
func TestOtherOptions(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	calm := play(t, seen, nil)
	w, r := begin(t, t.TempDir())
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
	r2 := w.restore(t, recorderOptions{Engine: lifecycle.Options{Cluster: "recorded", Settle: time.Minute}})
	if r2.discarded != nil {
		t.Fatal(r2.discarded)
	}
	for _, o := range seen[half:] {
		r2.observe(o)
	}
	finish(t, r2, seen[len(seen)-1].Seen)
	if got := count(t, w); got != len(calm.traces) {
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

func count(t *testing.T, w *world) int {
	t.Helper()
	return len(w.list(t, store.Query{}))
}

// State with a time far in the future is not resumed: the clock would stand still for years.
func TestStoredInTheFuture(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	w, r := begin(t, t.TempDir())
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
	again, err := restore(t.Context(), w.Journal, r.recorderOptions, now)
	if err != nil || again.discarded == nil || !again.last.IsZero() {
		t.Fatalf("restored (%v) for %v at %s, want a new engine", err, again.discarded, again.last)
	}
	if err := again.look(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if left := w.states(t, watchState); len(left) != 0 {
		t.Errorf("positions %v are left for an empty engine", left)
	}
}
