// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestSlotsOfPods: a new Pod gets the lowest free slot. Pods of the start are in order of creation.
func TestSlotsOfPods(t *testing.T) {
	c := newCluster()
	made := podOf("batch", "Job", "sums")
	old := func(d time.Duration) trait { return func(st *state) { st.Created = epoch.Add(-d) } }
	c.found("younger", made, old(time.Minute))
	c.found("older", made, old(time.Hour))
	c.store("third", made)
	c.gone("older").begins()
	c.store("again", made)
	c.store("fourth", made)
	c.set()
	want := map[types.UID]int{"uid-older": 1, "uid-younger": 2, "uid-third": 3, "uid-again": 1, "uid-fourth": 4}
	if diff := gocmp.Diff(want, slots(c.scene, "uid-sums")); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
}
