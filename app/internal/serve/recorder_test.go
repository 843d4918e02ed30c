// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// recordings returns the engine's test recordings of real clusters; some of them in short mode.
func recordings(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		var some []string
		for _, name := range []string{
			"create.real", "rollout.real", "delete-foreground.real", "operator-links.kwok", "service.kwok",
		} {
			some = append(some, "../lifecycle/testdata/"+name+".jsonl.gz")
		}
		return some
	}
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

// TestKilledAtAnyMoment ends a recorder again and again while it stores real recordings: before a
// commit, after a commit but before its return, and between looks; with and without an archive. The
// final traces, the entries to send and the counted durations must equal those of an undisturbed recorder.
func TestKilledAtAnyMoment(t *testing.T) {
	for i, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			seen := read(t, path)
			from, to := uint64(0), uint64(2)
			if testing.Short() {
				from = uint64(i) % 2
				to = from + 1
			}
			for seed := from; seed < to; seed++ {
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
				if d := cmp.Diff(calm.counted, killed.counted); d != "" || len(calm.counted) == 0 {
					t.Errorf("seed %d: counted durations, -undisturbed +killed:\n%s", seed, d)
				}
			}
		})
	}
}

// played is the result of a recording.
type played struct {
	// traces are the stored ones: their spans as OTLP, outcome and reason.
	traces map[string]string
	// queued counts each trace's entries to send.
	queued map[string]int
	// counted are the histograms of durations over all lives, each with its number and its sum.
	counted         map[string]string
	kills, replayed int
}

// player plays a recording to a recorder, and kills it.
type player struct {
	t    *testing.T
	dir  string
	dice *rand.Rand
	played

	w   *world
	r   *restored
	end time.Time
	// done counts the stored observations.
	done int
	// waits makes every third second one in which nothing is handed out.
	waits bool
	now   time.Time
	// registry and durations belong to all lives.
	registry  *prometheus.Registry
	durations *durations
}

// play stores a recording like a server. With dice it kills the recorder at random.
func play(t *testing.T, seen []*observation.Observation, dice *rand.Rand) played {
	t.Helper()
	return playWaiting(t, seen, dice, false)
}

func playWaiting(t *testing.T, seen []*observation.Observation, dice *rand.Rand, waits bool) played {
	t.Helper()
	k := &player{t: t, dir: t.TempDir(), dice: dice, waits: waits, registry: prometheus.NewRegistry()}
	k.durations = newDurations(k.registry)
	k.start()
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
	if !k.w.archived {
		k.w.end()
		k.w = newWorld(t, k.dir)
		must(t, k.w.restore(t, recorderOptions{}).look(t.Context(), k.end.Add(3*time.Hour)))
	}
	k.collect()
	k.w.end()
	return k.played
}

// start starts the next recorder. In one of three lives it has no archive, so that the log grows.
func (k *player) start() {
	k.t.Helper()
	if k.dice != nil && k.dice.IntN(3) == 0 {
		k.w = newWorldOver(k.t, k.dir, nil)
	} else {
		k.w = newWorld(k.t, k.dir)
	}
	k.r = k.w.restore(k.t, recorderOptions{
		Sends:  func(*span.Trace) bool { return true },
		Stored: func(l *look) { k.durations.count(l.finished, nil) },
		Waits: func() bool { return k.waits && !k.now.After(k.end) && k.now.Unix()%3 == 0 },
	})
	if k.r.discarded != nil {
		k.t.Fatalf("not restored: %v", k.r.discarded)
	}
	k.replayed += k.r.observations
}

// look looks, and reports whether the recorder survived that.
func (k *player) look(now time.Time, observed int) bool {
	k.t.Helper()
	k.now = now
	before := k.dice == nil || k.dice.IntN(6) > 0
	if before {
		must(k.t, k.r.look(k.t.Context(), now))
		k.done = observed
	}
	if before && (k.dice == nil || k.dice.IntN(3) > 0) {
		return true
	}
	k.kills++
	k.w.end()
	k.start()
	return false
}

func (k *player) collect() {
	k.t.Helper()
	k.traces, k.queued = map[string]string{}, map[string]int{}
	for _, sum := range k.w.list(k.t, store.Query{Limit: store.MaxPage}) {
		record := k.w.trace(k.t, sum.ID)
		text, err := proto.MarshalOptions{
			Deterministic: true,
		}.Marshal(&tracepb.TracesData{ResourceSpans: span.ToOTLP([]*span.Trace{record.Trace}, "")})
		must(k.t, err)
		name := sum.ID.String()
		if _, twice := k.traces[name]; twice {
			k.t.Errorf("trace %s is in the list twice", name)
		}
		k.traces[name] = fmt.Sprintf("open %t %s %s: %x", sum.Open, sum.Outcome, sum.Reason, text)
	}
	k.counted = map[string]string{}
	families, err := k.registry.Gather()
	must(k.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			sum := time.Duration(math.Round(m.GetHistogram().GetSampleSum()*1e6)) * time.Microsecond
			k.counted[fmt.Sprint(f.GetName(), m.GetLabel())] = fmt.Sprint(m.GetHistogram().GetSampleCount(), " ", sum)
		}
	}
	items, err := k.w.Pending(k.t.Context(), journal.Sender)
	must(k.t, err)
	for _, i := range items {
		k.queued[fmt.Sprintf("%s amends %t", i.TraceID, i.Amends)]++
	}
}

// forever is a time that no recording reaches.
var forever = time.Now().AddDate(100, 0, 0)

func quietly(string, ...any) {}
