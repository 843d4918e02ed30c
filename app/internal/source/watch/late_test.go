// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"net/http"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// shortly is the late limit in tests.
const shortly = 30 * time.Millisecond

func TestWhatCameDuringABreakIsLate(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	wd := watching(t, f)
	wd.pace.late = shortly
	wd.Follow(t.Context(), pods, "default", 0)
	wd.present()
	f.put(podsPath, "default", "b")
	wd.awaitLine("Pod/b 102")
	f.with(func() { f.refuse[podsPath] = http.StatusServiceUnavailable })
	f.endWatches()
	f.put(podsPath, "default", "c")
	f.remove(podsPath, "default", "b")
	f.put(eventsPath, "default", "e", "reason", "Pulled")
	ended := len(f.asked("/pods", "watch"))
	wd.await("some refused requests", func() bool {
		defer wd.ping()
		return len(f.asked("/pods", "watch")) > ended+2
	})
	f.with(func() { delete(f.refuse, podsPath) })
	wd.awaitLine("listed gone Pod/b 104")
	wd.present()
	f.put(podsPath, "default", "d")
	wd.awaitLine("Pod/d 106")
	if n := len(f.asked("/pods", "limit=250")); n != 1 {
		t.Errorf("want no second list, got %v", f.asked("/pods"))
	}
	wd.mu.Lock()
	defer wd.mu.Unlock()
	got := map[string]bool{}
	for _, line := range wd.lines {
		got[line] = true
	}
	for _, line := range []string{"listed Pod/c 103", "listed gone Pod/b 104", "Pod/d 106"} {
		if !got[line] {
			t.Errorf("want %q among %q", line, wd.lines)
		}
	}
}

func TestAShortBreakMakesNothingLate(t *testing.T) {
	f := newFakeAPI(t)
	wd := watching(t, f)
	wd.pace.late = time.Hour
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	f.endWatches()
	f.put(podsPath, "default", "a")
	wd.awaitLine("Pod/a 101")
	if asked := f.asked("/pods", "limit=1&"); asked != nil {
		t.Errorf("want no request for the present version, got %v", asked)
	}
}

func TestWhatASlowReceiverTakesLateIsLate(t *testing.T) {
	f := newFakeAPI(t)
	taken, goOn := make(chan struct{}), make(chan struct{})
	wd := watchingAs(t, f, func(c *Config) {
		emit := c.Emit
		c.Emit = func(o *observation.Observation) {
			emit(o)
			if o.State != nil && o.State.Name == "first" {
				close(taken)
				<-goOn
			}
		}
	})
	wd.pace.late = shortly
	wd.Follow(t.Context(), pods, "default", 0)
	wd.present()
	f.put(podsPath, "default", "first")
	<-taken
	f.put(podsPath, "default", "waiting")
	<-time.After(2 * shortly) // the test needs time to pass
	close(goOn)
	wd.awaitLine("listed Pod/waiting 102")
	wd.present()
	f.put(podsPath, "default", "after")
	wd.awaitLine("Pod/after 103")
}
