// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"time"
)

// pauses are the pauses between attempts. Each is twice as long as the previous one, up to the
// longest.
type pauses struct{ next, longest time.Duration }

// take returns the next pause.
func (p *pauses) take() time.Duration {
	pause := p.next
	p.next = min(2*pause, p.longest)
	return pause
}

// wait waits for the next pause. It returns false if ctx ended meanwhile.
func (p *pauses) wait(ctx context.Context) bool {
	timer := time.NewTimer(p.take())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
