// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// seed is the seed of the random times of kills and of the random work.
const seed = 20

// TestKilledDuringRollouts: a server is killed many times during many changes. In the end it has
// the same traces as an undisturbed server, both in its store and at the backend.
func TestKilledDuringRollouts(t *testing.T) {
	kills, deployments, rollouts := 50, 20, 10
	if testing.Short() {
		kills, deployments, rollouts = 8, 5, 4
	}
	killed(t, bench.Namespace(t), kills, deployments, rollouts)
}

// killed kills a server at random times during rollouts, and compares it with an undisturbed one. The binaries are
// those of its starts, in turn.
func killed(t *testing.T, ns string, kills, deployments, rollouts int, binaries ...string) (victim *harness.Server) {
	t.Helper()
	// settle must be longer than the pauses of a busy machine. Otherwise a late event may be in a
	// trace for one server, and too late for the other.
	const settle = 5 * time.Second
	patient := fmt.Sprintf("engine: {settle: %s}\n", settle)
	reference := bench.Server(t, harness.ServerOptions{Config: patient})
	reference.Start(t)
	backend := harness.NewBackend(t)
	victim = bench.Server(t, harness.ServerOptions{Config: patient, OTLP: backend.URL()})
	if len(binaries) > 0 {
		victim.Binary = binaries[0]
	}
	victim.Start(t)
	w := &work{Interface: client(t), namespace: ns, deployments: deployments, rollouts: rollouts, atOnce: 6, seed: seed}
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- w.run(t.Context()) }()

	k := &killer{server: victim, backend: backend, least: kills, binaries: binaries, random: rand.New(rand.NewPCG(seed, 0))}
	if err := k.until(t, done); err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"%d rollouts and %d other changes in %s; killed %d times, %d of them before readiness; "+
			"longest time without watches %s",
		w.done.Load(),
		w.others.Load(),
		time.Since(began).Round(time.Second),
		k.kills,
		k.early,
		k.longest.Round(time.Millisecond),
	)

	calm(t, ns)
	reference.AwaitIdle(t)
	victim.AwaitIdle(t)
	want, got := reference.Traces(t, ns), victim.Traces(t, ns)
	c := &comparison{t: t, away: k.longest, tardy: tardy(t, ns, settle)}
	c.compare(want, got)

	once, repeated := backend.Once(t, inTraces(got))
	t.Logf("backend: %d spans, %d of them repeated, %d requests refused", len(once), repeated, backend.Refused())
	sent := map[string]*harness.Trace{}
	for _, tr := range harness.Group(once) {
		sent[tr.ID] = tr
	}
	exact(t, got, sent)
	replayed(t, victim)
	return victim
}

// killer kills a server at random times, and restarts it.
type killer struct {
	server  *harness.Server
	backend *harness.Backend
	random  *rand.Rand
	// least is the minimum number of kills.
	least int
	// binaries are those of the starts, in turn; none means that of the bench.
	binaries []string

	// kills counts the kills, and early those before the server was ready.
	kills, early int
	// longest is the longest time in which the server had no watches.
	longest time.Duration
}

// until kills the server until done has the result of the work, and at least least times. It
// returns that result. The backend is down for a quarter of the kills, and refuses spans for an
// eighth.
func (k *killer) until(t *testing.T, done <-chan error) error {
	t.Helper()
	var err error
	seeing := time.Now()
	for working, unready := true, 0; working || k.kills < k.least; {
		if unready == 2 { // else the server may never become ready on a busy machine
			k.server.AwaitReady(t)
		}
		timer := time.NewTimer(k.between(40*time.Millisecond, 3500*time.Millisecond))
		select {
		case err = <-done:
			working, done = false, nil
			timer.Stop()
			if err != nil {
				return err
			}
		case <-timer.C:
		}
		if k.server.Ready(t) {
			k.longest = max(k.longest, time.Since(seeing))
			unready = 0
		} else {
			k.early++
			unready++
		}
		k.server.Kill(t)
		if unready == 0 {
			seeing = time.Now()
		}
		k.kills++
		k.disturb(t)
		if err := pause(t.Context(), k.between(0, 800*time.Millisecond)); err != nil {
			return err
		}
		if len(k.binaries) > 0 {
			k.server.Binary = k.binaries[k.kills%len(k.binaries)]
		}
		k.server.Begin(t)
	}
	k.server.AwaitReady(t)
	k.longest = max(k.longest, time.Since(seeing))
	return err
}

// disturb stops and starts the backend, or its refusals, depending on the number of kills.
func (k *killer) disturb(t *testing.T) {
	t.Helper()
	switch k.kills {
	case k.least / 4:
		k.backend.Down()
	case k.least / 2:
		k.backend.Up(t)
	case k.least * 5 / 8:
		k.backend.Answer(http.StatusServiceUnavailable)
	case k.least * 3 / 4:
		k.backend.Answer(0)
	}
}

func (k *killer) between(least, most time.Duration) time.Duration {
	return least + time.Duration(k.random.Int64N(int64(most-least)))
}

// quiet is the time without a new Event after which no more are expected.
const quiet = 5 * time.Second

// calm waits until all work in the namespace has ended. A controller writes Events one by one, so on a
// busy machine the last ones come long after the work.
func calm(t *testing.T, ns string) {
	t.Helper()
	bench.Oracle(t, ns)
	events, since := "", time.Now()
	harness.Eventually(t, "no new Event", func() bool {
		time.Sleep(time.Second) // a list of thousands of Events
		list, err := client(t).CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		newest := uint64(0)
		for i := range list.Items {
			rv, err := strconv.ParseUint(list.Items[i].ResourceVersion, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			newest = max(newest, rv)
		}
		if now := fmt.Sprint(len(list.Items), newest); now != events {
			events, since = now, time.Now()
		}
		return time.Since(since) >= quiet
	})
}

// inTraces accepts the spans of those traces.
func inTraces(traces map[string]*harness.Trace) func(*harness.Span) bool {
	return func(s *harness.Span) bool { return traces[s.Trace] != nil }
}
