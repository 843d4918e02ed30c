// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strconv"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// What is handed on when the loop stops is a beginning of what was seen: no
// position is kept beyond something that was dropped.
func TestStopDropsTheEndOnly(t *testing.T) {
	for range 200 {
		l := newLoop(nil, nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 2 * backlog {
				l.reached(watch.Position{Version: strconv.Itoa(i)})
			}
			close(l.ended)
		}()
		first := <-l.in
		timer := time.AfterFunc(time.Microsecond, l.stop)
		next := 1
		taken := func(i item) {
			if i.position.Version != strconv.Itoa(next) {
				t.Errorf("%s follows %d: something in between was dropped", i.position.Version, next-1)
			}
			next++
		}
		for ended := false; !ended; {
			select {
			case i := <-l.in:
				taken(i)
			case <-l.ended:
				ended = true
			}
		}
		for len(l.in) > 0 {
			taken(<-l.in)
		}
		<-done
		timer.Stop()
		if first.position.Version != "0" {
			t.Fatalf("begins with %s", first.position.Version)
		}
	}
}
