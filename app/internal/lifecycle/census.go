// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// census is how many dependants an owner had: from each resourceVersion on,
// until the next, so many.
type census []headcount

type headcount struct {
	from  uint64
	alive int
}

// census counts the dependants of an owner, once for all who ask.
func (d *derivation) census(owner types.UID) census {
	c, counted := d.censuses[owner]
	if !counted {
		for _, t := range d.engine.dependantsOf(owner) {
			c = t.livingIn(c)
		}
		slices.SortFunc(c, func(a, b headcount) int { return cmp.Compare(a.from, b.from) })
		for i := 1; i < len(c); i++ {
			c[i].alive += c[i-1].alive
		}
		d.censuses[owner] = c
	}
	return c
}

// before is how many there were, and not on their way out, just before rv.
func (c census) before(rv uint64) int {
	i, _ := slices.BinarySearchFunc(c, rv, func(h headcount, rv uint64) int { return cmp.Compare(h.from, rv) })
	if i == 0 {
		return 0
	}
	return c[i-1].alive
}

// livingIn adds to c when t came to life (+1) and when it ceased (-1).
func (t *timeline) livingIn(c census) census {
	lives := false
	for _, v := range t.versions {
		if t.removal != nil && v.ResourceVersion >= t.removal.rv {
			break
		}
		if alive(v) != lives {
			lives = !lives
			c = append(c, headcount{from: v.ResourceVersion, alive: sign(lives)})
		}
	}
	if lives && t.removal != nil {
		c = append(c, headcount{from: t.removal.rv, alive: sign(false)})
	}
	return c
}

func sign(up bool) int {
	if up {
		return 1
	}
	return -1
}

// alive reports whether the object does what it is there for, or may yet.
func alive(v *version) bool {
	return v.Deleting.IsZero() && failure(v) == "" && !(v.Pod != nil && v.Pod.Phase == "Succeeded")
}
