// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"
)

// TestWakes: an object is woken at its earliest time, and waits once however often it is judged.
func TestWakes(t *testing.T) {
	var w wakes
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	for range 1000 {
		w.add(wake{at(20), "a"})
		w.add(wake{at(30), "a"})
	}
	w.add(wake{at(25), "b"})
	if len(w.heap) != 2 || w.due(at(20)) || !w.due(at(21)) {
		t.Fatalf("%d wakes, due %t", len(w.heap), w.due(at(21)))
	}
	w.add(wake{at(10), "a"})
	for _, want := range []string{"a", "a", "b"} { // the second one is in vain
		if got := w.take(); string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	w.add(wake{at(40), "a"})
	if len(w.heap) != 1 || len(w.next) != 1 {
		t.Errorf("%d wakes of %d objects", len(w.heap), len(w.next))
	}
}
