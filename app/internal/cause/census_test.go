// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestCensus: the number of living dependants, at each resourceVersion.
func TestCensus(t *testing.T) {
	c := newCluster()
	made := podOf("apps", "ReplicaSet", "web-1")
	c.store("a", made)                                                 // 101
	c.store("b", made)                                                 // 102
	c.store("b", failed)                                               // 103
	c.store("c", made)                                                 // 104
	c.store("a", deleting)                                             // 105
	c.gone("a")                                                        // 106
	c.gone("c")                                                        // 107
	c.store("d", made, elsewhere)                                      // 108
	c.store("e", made, func(st *state) { st.Pod.Phase = "Succeeded" }) // 109
	c.set()
	got := map[uint64]int{}
	for rv := uint64(100); rv < 111; rv++ {
		got[rv] = CensusOf(c.scene, "uid-web-1").Before(rv)
	}
	want := map[uint64]int{
		100: 0, 101: 0, 102: 1, 103: 2, 104: 1, 105: 2, 106: 1, 107: 1, 108: 0, 109: 1, 110: 1,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("living dependants before each resourceVersion (-want +got):\n%s", diff)
	}
}
