// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// recordings returns the engine's test recordings of real clusters.
func recordings(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../lifecycle/testdata/*.jsonl.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	return paths
}

func read(t testing.TB, path string) []*observation.Observation {
	t.Helper()
	in, err := observation.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out []*observation.Observation
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
}

// TestKilledAtAnyMoment kills a recorder again and again while it stores real recordings: before a
// write, after a write but before its return, and between looks. The final traces and the outbox
// must equal those of an undisturbed recorder.
func TestKilledAtAnyMoment(t *testing.T) {
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			seen := read(t, path)
			for seed := range uint64(2) {
				waits := seed%2 == 1 // as while watches are behind
				calm := playWaiting(t, seen, nil, waits)
				killed := playWaiting(t, seen, rand.New(rand.NewPCG(seed, 1)), waits)
				t.Logf("seed %d: killed %d times, replayed %d observations", seed, killed.kills, killed.replayed)
				if d := cmp.Diff(calm.traces, killed.traces); d != "" {
					t.Errorf("seed %d: -undisturbed +killed:\n%s", seed, d)
				}
				if d := cmp.Diff(calm.queued, killed.queued); d != "" {
					t.Errorf("seed %d: to be sent, -undisturbed +killed:\n%s", seed, d)
				}
			}
		})
	}
}

// played is the result of a recording.
type played struct {
	// traces are the stored ones: their spans as OTLP, outcome and reason.
	traces map[string]string
	// queued is how often each was queued to be sent.
	queued          map[string]int
	kills, replayed int
}

// player plays a recording to a recorder, and kills it.
type player struct {
	t    *testing.T
	path string
	dice *rand.Rand
	played

	st  *flaky
	r   *restored
	end time.Time
	// done counts the stored observations.
	done int
	// waits makes every third second one in which nothing is handed out.
	waits bool
	now   time.Time
}

// play stores a recording like a server. With dice it kills the recorder at random.
func play(t *testing.T, seen []*observation.Observation, dice *rand.Rand) played {
	t.Helper()
	return playWaiting(t, seen, dice, false)
}

func playWaiting(t *testing.T, seen []*observation.Observation, dice *rand.Rand, waits bool) played {
	t.Helper()
	k := &player{t: t, path: filepath.Join(t.TempDir(), "test.db"), dice: dice, waits: waits}
	k.start()
	defer func() { k.st.Close() }()
	var tick time.Time
	for _, o := range seen {
		if o.Seen.After(k.end) {
			k.end = o.Seen
		}
	}
	for i := 0; i < len(seen); i++ {
		o := seen[i]
		if o.Seen.Sub(tick) > 200*time.Millisecond && i > k.done {
			tick = o.Seen
			if !k.look(o.Seen, i) {
				i, tick = k.done-1, time.Time{}
				if k.done > 0 {
					tick = k.r.last
				}
				continue
			}
		}
		k.r.observe(o)
	}
	for _, later := range []time.Duration{0, 3 * time.Second, 2 * time.Minute, 3 * time.Minute, 2 * time.Hour} {
		for !k.look(k.end.Add(later), len(seen)) {
			for _, o := range seen[k.done:] {
				k.r.observe(o)
			}
		}
	}
	k.collect()
	return k.played
}

func (k *player) start() {
	k.t.Helper()
	st, err := sqlite.Open(k.t.Context(), k.path)
	if err != nil {
		k.t.Fatal(err)
	}
	k.st = &flaky{Store: st, dice: k.dice}
	l, err := openLedger(k.t.Context(), func(context.Context) (store.Store, error) { return k.st, nil })
	if err != nil {
		k.t.Fatal(err)
	}
	k.r, err = restore(k.t.Context(), l, recorderOptions{
		Engine:   lifecycle.Options{Cluster: "recorded"},
		Sampling: func() sampling { return sampling{ratePerMillion: 1_000_000} },
		Outbox:   &ledgerOutbox{t: k.t, st: k.st},
		Waits:    func() bool { return k.waits && !k.now.After(k.end) && k.now.Unix()%3 == 0 },
		Warn:     quietly,
	}, forever)
	if err != nil {
		k.t.Fatal(err)
	}
	if k.r.discarded != nil {
		k.t.Fatalf("not restored: %v", k.r.discarded)
	}
	k.replayed += k.r.observations
}

// look looks, and reports whether the recorder survived that.
func (k *player) look(now time.Time, observed int) bool {
	k.t.Helper()
	k.now = now
	err := k.r.look(k.t.Context(), now)
	if k.st.wrote {
		k.done = observed
	}
	k.st.wrote = false
	if err == nil && (k.dice == nil || k.dice.IntN(4) > 0) {
		return true
	}
	if err != nil && !errors.Is(err, errKilled) {
		k.t.Fatal(err)
	}
	k.kills++
	if err := k.st.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.start()
	return false
}

func (k *player) collect() {
	k.t.Helper()
	k.traces, k.queued = map[string]string{}, map[string]int{}
	page, err := k.st.List(k.t.Context(), store.Query{Limit: store.MaxPage})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, sum := range page.Traces {
		record, err := k.st.Trace(k.t.Context(), sum.ID)
		if err != nil {
			k.t.Fatal(err)
		}
		text, err := proto.MarshalOptions{
			Deterministic: true,
		}.Marshal(&tracepb.TracesData{ResourceSpans: span.ToOTLP([]*span.Trace{record.Trace}, "")})
		if err != nil {
			k.t.Fatal(err)
		}
		k.traces[sum.ID.String()] = fmt.Sprintf("open %t %s %s: %x", sum.Open, sum.Outcome, sum.Reason, text)
	}
	states, err := k.st.States(k.t.Context(), "outbox/")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, id := range states {
		k.queued[trace.TraceID(id).String()]++
	}
}

// forever is a time that no recording reaches.
var forever = time.Now().AddDate(100, 0, 0)

func quietly(string, ...any) {}

var errKilled = errors.New("killed")

// flaky is a store whose process is killed while it writes.
type flaky struct {
	store.Store
	dice  *rand.Rand
	wrote bool
}

func (f *flaky) Write(ctx context.Context, b *store.Batch) error {
	if f.dice != nil && f.dice.IntN(6) == 0 {
		return errKilled
	}
	if err := f.Store.Write(ctx, b); err != nil {
		return err
	}
	f.wrote = true
	if f.dice != nil && f.dice.IntN(6) == 0 {
		return errKilled
	}
	return nil
}

// ledgerOutbox queues traces by name, and never sends one.
type ledgerOutbox struct {
	t  *testing.T
	st store.Store
	n  uint64
}

func (o *ledgerOutbox) Queue(entries ...export.Entry) map[string][]byte {
	if o.n == 0 {
		there, err := o.st.States(o.t.Context(), "outbox/")
		if err != nil {
			o.t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(there)) {
			_, _ = fmt.Sscanf(name, "outbox/%d", &o.n)
		}
	}
	out := map[string][]byte{}
	for _, e := range entries {
		o.n++
		out[fmt.Sprintf("outbox/%020d", o.n)] = e.TraceID[:]
	}
	return out
}

func (o *ledgerOutbox) Stored(map[string][]byte) {}
