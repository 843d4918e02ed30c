// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxSchedulers bounds the known schedulers. Clusters have a few.
const maxSchedulers = 100

// schedulers are the names of the schedulers that have handled a Pod. fresh are those that became known since the
// last call of TakeSchedulers.
type schedulers struct{ known, fresh map[string]bool }

func newSchedulers() schedulers {
	return schedulers{known: map[string]bool{}, fresh: map[string]bool{}}
}

// note adds the scheduler of t, if that is a Pod with a decision of its scheduler.
func (s *schedulers) note(t *change.Timeline) {
	last := t.Last()
	if last == nil || last.Pod == nil || last.Condition(judge.PodScheduled) == nil {
		return
	}
	name := cmp.Or(last.Pod.Scheduler, object.DefaultScheduler)
	if !s.known[name] && len(s.known) < maxSchedulers {
		s.known[name], s.fresh[name] = true, true
	}
}

// TakeSchedulers returns the names of the schedulers that became known since the last call; nil without one.
func (x *Index) TakeSchedulers() map[string]bool {
	if len(x.schedulers.fresh) == 0 {
		return nil
	}
	out := x.schedulers.fresh
	x.schedulers.fresh = map[string]bool{}
	return out
}

// HasScheduler reports whether a scheduler of that name has handled a Pod. An observer of a few objects does not know,
// and assumes that the default scheduler runs.
func (v View) HasScheduler(name string) bool {
	return v.x.schedulers.known[name] || v.x.nodes.lacking != nil && name == object.DefaultScheduler
}
