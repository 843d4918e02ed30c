// SPDX-License-Identifier: Apache-2.0

package recent_test

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/recent"
)

// TestCache: a key in constant use stays, others leave, and the size is bounded.
func TestCache(t *testing.T) {
	c := recent.Cache[int, int]{Size: 8}
	c.Put(-1, 1)
	for i := range 100 {
		c.Put(i, i)
		if v, found := c.Get(-1); !found || v != 1 {
			t.Fatalf("the used key left after %d others", i)
		}
		if v, found := c.Get(i); !found || v != i {
			t.Fatalf("the new key %d is not there", i)
		}
	}
	held := 0
	for i := range 100 {
		if _, found := c.Get(i); found {
			held++
		}
	}
	if held > 8 {
		t.Errorf("%d keys are there, want at most 8", held)
	}
}
