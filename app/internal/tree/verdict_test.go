// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// TestEarlier: the waits of several attempts for one thing are one wait.
func TestEarlier(t *testing.T) {
	epoch := time.Unix(1_800_000_000, 0)
	wait := func(what string, from, to int) reason.Wait {
		at := func(n int) time.Time { return epoch.Add(time.Duration(n) * 100 * time.Millisecond) }
		return reason.Wait{Reason: reason.Reason{For: what}, Since: at(from), Until: at(to)}
	}
	got := earlier([]reason.Wait{
		{Reason: reason.Reason{For: "a class"}, Until: epoch}, wait("a node", 0, 3), wait("image a", 3, 10),
		wait("container a to start", 10, 13), wait("image a", 13, 20), wait("container a to start", 20, 23),
	})
	want := []string{"300ms for a node", "1.4s for image a", "600ms for container a to start"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
