// SPDX-License-Identifier: Apache-2.0

package harness

import "testing"

// Slow skips a test under -short. `make test` runs with -short, `make test-all`
// without.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test-all runs it")
	}
}
