// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"
	"time"
)

// patience bounds every wait for something that must come: some times as long as
// it takes on a machine that does much else.
const patience = 4 * time.Minute

// Eventually polls until the condition holds, and fails the test if it never
// does.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, patience, what, holds)
}

// Within is Eventually for what may take longer, or must not take so long.
func Within(t testing.TB, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}
