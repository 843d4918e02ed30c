// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// batching is a Watcher with batches that shows the present Pods of f.
func batching(t *testing.T, f *fakeAPI, emitted func(*observation.Observation)) *watched {
	t.Helper()
	wd := watchingAs(t, f, func(c *Config) {
		emit := c.Emit
		c.Batches = true
		c.Emit = func(o *observation.Observation) {
			emit(o)
			emitted(o)
		}
	})
	wd.Follow(t.Context(), pods, "default", 0)
	wd.present()
	return wd
}

func nothing(*observation.Observation) {}

// waits waits until n streams have waiting changes.
func (wd *watched) waits(n int) {
	wd.t.Helper()
	wd.await(fmt.Sprintf("changes wait in %d streams", n), func() bool {
		defer wd.ping()
		wd.batches.mu.Lock()
		defer wd.batches.mu.Unlock()
		return len(wd.batches.of) == n
	})
}

func TestFlush(t *testing.T) {
	f := newFakeAPI(t)
	var seen time.Time
	wd := batching(t, f, func(o *observation.Observation) { seen = o.Seen })
	f.put(podsPath, "default", "a")
	wd.waits(1)
	f.put(eventsPath, "default", "e", "reason", "Pulled")
	wd.waits(2)
	wd.want("both changes wait")
	asked := time.Now()
	<-wd.Flush(patience)
	wd.want("the result is closed after the changes", "Pod/a 101", "event Pulled 102")
	if !seen.Before(asked) {
		t.Errorf("seen at %s, want the time of the arrival, before %s", seen, asked)
	}
	wd.waits(0)
	<-wd.Flush(patience) // nothing waits
}

func TestBatchEndsWithoutFlush(t *testing.T) {
	for name, end := range map[string]func(*watched, *fakeAPI){
		"Full": func(_ *watched, f *fakeAPI) {
			for n := range maxBatch - 1 {
				f.put(eventsPath, "default", fmt.Sprint(n), "reason", "Pulled")
				f.put(podsPath, "default", "a")
			}
		},
		"TheWatchEnds":     func(_ *watched, f *fakeAPI) { f.endWatches() },
		"TheWatcherCloses": func(wd *watched, _ *fakeAPI) { wd.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			wd := batching(t, f, nothing)
			f.put(podsPath, "default", "a")
			wd.waits(1)
			wd.want("the change waits")
			end(wd, f)
			wd.awaitLine("Pod/a 101")
		})
	}
}

// TestDefinitionDoesNotWait: discovery must not show a kind before its definition was observed.
func TestDefinitionDoesNotWait(t *testing.T) {
	f := newFakeAPI(t)
	wd := watchingAs(t, f, func(c *Config) { c.Batches = true })
	wd.Follow(t.Context(), crds.WithVersion("v1"), "", 0)
	wd.present()
	f.put(crdsPath, "", "things.example.com")
	wd.awaitLine("CustomResourceDefinition/things.example.com 101")
}

// TestFlushOfASlowReceiver: neither the call that waits for it nor a later one waits for longer than its
// limit.
func TestFlushOfASlowReceiver(t *testing.T) {
	f := newFakeAPI(t)
	taken, goOn := make(chan struct{}), make(chan struct{})
	wd := batching(t, f, func(o *observation.Observation) {
		if o.State.Name == "slow" {
			close(taken)
			<-goOn
		}
	})
	f.put(podsPath, "default", "slow")
	wd.waits(1)
	first := wd.Flush(patience)
	<-taken
	<-wd.Flush(time.Millisecond)
	<-wd.Flush(time.Millisecond)
	select {
	case <-first:
		t.Error("the first call did not wait")
	default:
	}
	close(goOn)
	<-first
	wd.want("the slow change", "Pod/slow 101")
	f.put(podsPath, "default", "after")
	wd.waits(1)
	<-wd.Flush(patience)
	wd.want("a later change", "Pod/slow 101", "Pod/after 102")
}

// TestSlowReceiverOfABatch: the stream of a quiet resource does not stay behind after a slow receiver.
func TestSlowReceiverOfABatch(t *testing.T) {
	f := newFakeAPI(t)
	taken, goOn := make(chan struct{}), make(chan struct{})
	wd := watchingAs(t, f, func(c *Config) {
		c.Batches = true
		c.Emit = func(*observation.Observation) {
			close(taken)
			<-goOn
		}
	})
	wd.pace.late, wd.pace.quiet = shortly, 500*time.Millisecond
	wd.Follow(t.Context(), pods, "default", 0)
	wd.present()
	<-time.After(wd.pace.quiet) // the stream is quiet
	f.put(podsPath, "default", "slow")
	wd.waits(1)
	done := wd.Flush(patience)
	<-taken
	f.put(nodesPath, "", "elsewhere") // the version of the next list is beyond all Pods
	<-time.After(2 * shortly)         // the receiver is slow
	close(goOn)
	<-done
	wd.await("a stream that is behind", func() bool { defer wd.ping(); return wd.Stats().Lag > 0 })
	wd.present()
}
