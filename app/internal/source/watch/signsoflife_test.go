// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"net/http"
	"testing"
	"time"
)

// TestHeard: a hung server gives no sign of life although its watches stay connected. An idle
// server does.
func TestHeard(t *testing.T) {
	const livez = "/livez"
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	wd := watchingAs(t, f, func(c *Config) { c.Probes = true })
	wd.pace.probe, wd.pace.answer = 30*time.Millisecond, 100*time.Millisecond
	wd.watch(all)
	wd.present()
	// heard waits for a sign of life that is later than this call.
	heard := func(reason string) {
		t.Helper()
		since := time.Now()
		wd.await(reason, func() bool { defer wd.ping(); return wd.Stats().Heard.After(since) })
		if statsOf(wd, "pods").Connected != 1 {
			t.Errorf("%s: the watch is not connected: %+v", reason, statsOf(wd, "pods"))
		}
	}
	// silent checks that probes produce no sign of life.
	silent := func(reason string) {
		t.Helper()
		probed := func(times int) {
			from := len(f.asked(livez))
			wd.await("probes", func() bool { defer wd.ping(); return len(f.asked(livez)) >= from+times })
		}
		probed(2) // the first may be the last one with a response
		before := wd.Stats().Heard
		probed(3)
		if after := wd.Stats().Heard; !after.Equal(before) {
			t.Errorf("%s: heard at %v, and again at %v", reason, before, after)
		}
		if statsOf(wd, "pods").Connected != 1 {
			t.Errorf("%s: the watch is not connected: %+v", reason, statsOf(wd, "pods"))
		}
	}
	for range 3 {
		heard("nothing changes, and probes get responses")
	}
	f.with(func() { f.stuck[livez] = 1 << 20 })
	silent("the server does not respond any more")
	since := time.Now()
	f.put(podsPath, "default", "b")
	wd.await("a change as a sign of life", func() bool { defer wd.ping(); return wd.Stats().Heard.After(since) })
	f.with(func() { f.stuck[livez] = 0 })
	heard("the server responds again")
	f.with(func() { f.refuse[livez] = http.StatusForbidden })
	heard("a response with any status is a sign of life")
	f.with(func() { f.refuse[livez] = http.StatusServiceUnavailable })
	silent("a proxy responds without its server")
}

// TestNoProbes: without Probes a Watcher sends only its usual requests.
func TestNoProbes(t *testing.T) {
	f := newFakeAPI(t)
	wd := watching(t, f)
	wd.pace.probe = time.Millisecond
	wd.watch(all)
	wd.present()
	if n := len(f.asked("/livez")); n != 0 || !wd.Stats().Heard.IsZero() {
		t.Errorf("%d probes, heard at %v", n, wd.Stats().Heard)
	}
}
