// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// wake is a time from which the judgement of an object may differ without an observation.
type wake struct {
	at  time.Time
	uid types.UID
}

// wakes is a binary heap, the earliest first. An object may be in it several times: a wake in vain changes nothing.
type wakes []wake

// add adds one wake.
func (w *wakes) add(one wake) {
	*w = append(*w, one)
	all := *w
	for i := len(all) - 1; i > 0 && all[i].at.Before(all[(i-1)/2].at); i = (i - 1) / 2 {
		all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
	}
}

// take removes the earliest wake, and returns its object.
func (w *wakes) take() types.UID {
	all := *w
	first, n := all[0], len(all)-1
	all[0] = all[n]
	*w = all[:n]
	for i := 0; ; {
		least := i
		for _, kid := range []int{2*i + 1, 2*i + 2} {
			if kid < n && all[kid].at.Before(all[least].at) {
				least = kid
			}
		}
		if least == i {
			return first.uid
		}
		all[i], all[least] = all[least], all[i]
		i = least
	}
}
