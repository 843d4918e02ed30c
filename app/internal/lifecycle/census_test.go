// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestCensus(t *testing.T) {
	s := newStory() // the first write has resourceVersion 101
	s.write("web-1", replicaSet("web", 3))
	s.write("a", pod("web-1"))
	s.write("b", pod("web-1"))
	s.write("c", pod("web-1"))
	s.write("a", deleting)
	s.write("b", func(st *observation.State) { st.Pod.Phase = "Failed"; st.Pod.Reason = "Evicted" })
	s.gone("a")
	s.gone("c")
	d := observe(s.seen).refresh(s.now())[0].derived
	c := cause.CensusOf(d.scene, s.objects["web-1"].UID)
	var got []int
	for rv := uint64(101); rv <= 110; rv++ {
		got = append(got, c.Before(rv))
	}
	want := []int{0, 0, 1, 2, 3, 2, 1, 1, 0, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dependants just before each write: -want +got:\n%s", diff)
	}
}
