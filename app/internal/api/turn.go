// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"runtime"
)

// turns is the number of whole traces that are read and arranged at a time: one may have 250,000 spans, and
// takes 200 MB and a second of a processor.
var turns = max(2, runtime.GOMAXPROCS(0)/2)

// turn waits until the request may read a whole trace, or until ctx ends. release ends the turn.
func (t *traces) turn(ctx context.Context) (release func(), err error) {
	select {
	case t.turns <- struct{}{}:
		return func() { <-t.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
