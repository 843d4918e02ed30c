// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// Census holds the numbers of living dependants of an owner, each valid from one resourceVersion to
// the next.
type Census []headcount

// headcount is the number of living dependants from a resourceVersion on.
type headcount struct {
	from  uint64
	alive int
}

// CensusOf returns the numbers of dependants of an owner. All rules share one count per owner.
func CensusOf(s *Scene, owner types.UID) Census {
	c, counted := s.counts.censuses[owner]
	if !counted {
		for _, t := range s.Known.Dependants(owner) {
			c = livingIn(t, c)
		}
		slices.SortFunc(c, func(a, b headcount) int { return cmp.Compare(a.from, b.from) })
		for i := 1; i < len(c); i++ {
			c[i].alive += c[i-1].alive
		}
		put(&s.counts.censuses, owner, c)
	}
	return c
}

// Before returns the number of dependants just before rv, without those on their way out.
func (c Census) Before(rv uint64) int {
	i, _ := slices.BinarySearchFunc(c, rv, func(h headcount, rv uint64) int { return cmp.Compare(h.from, rv) })
	if i == 0 {
		return 0
	}
	return c[i-1].alive
}

// livingIn returns c with the start (+1) and the end (-1) of the life of t.
func livingIn(t *change.Timeline, c Census) Census {
	lives := false
	for _, v := range t.Versions {
		if t.Removal != nil && v.ResourceVersion >= t.Removal.RV {
			break
		}
		if Alive(v) != lives {
			lives = !lives
			c = append(c, headcount{from: v.ResourceVersion, alive: sign(lives)})
		}
	}
	if lives && t.Removal != nil {
		c = append(c, headcount{from: t.Removal.RV, alive: sign(false)})
	}
	return c
}

// sign returns 1 for up, and else -1.
func sign(up bool) int {
	if up {
		return 1
	}
	return -1
}

// Alive reports whether the object of v serves its purpose, or still may.
func Alive(v *history.Version) bool {
	return v.Deleting.IsZero() && judge.Failure(v) == "" && !(v.Pod != nil && v.Pod.Phase == "Succeeded")
}
