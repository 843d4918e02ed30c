// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
)

// foldFights remembers updates of t up to the resourceVersion rv, which are forgotten.
func (k *retention) foldFights(t *change.Timeline, updates []tree.FieldUpdate, rv uint64) {
	for i := range updates {
		if updates[i].Write.RV > rv {
			break
		}
		if k.memory.contests[t.Ref.UID] == nil {
			k.memory.contests[t.Ref.UID] = &change.Contests{}
		}
		updates[i].Contest(k.memory.contests[t.Ref.UID])
	}
}

// forgetFights forgets the remembered updates of long ago. Of too many objects it forgets those with
// the oldest ones.
func (k *retention) forgetFights(now time.Time) {
	maps.DeleteFunc(k.memory.contests, func(_ types.UID, c *change.Contests) bool {
		return now.Sub(c.Last()) > tree.FightMemory
	})
	if len(k.memory.contests) <= tree.MaxContested {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(k.memory.contests), func(a, b types.UID) int {
		return cmp.Or(k.memory.contests[a].Last().Compare(k.memory.contests[b].Last()), cmp.Compare(a, b))
	})
	for _, uid := range oldest[:len(oldest)-tree.MaxContested] {
		delete(k.memory.contests, uid)
	}
}
