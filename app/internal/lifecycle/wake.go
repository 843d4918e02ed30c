// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// wake is a time from which the judgement of an object may differ without an observation.
type wake struct {
	at  time.Time
	uid types.UID
}

// wakes is a heap, the earliest first. next is the earliest one of each object: its judgement adds the next one. An
// earlier one may leave a wake in vain behind, which changes nothing.
type wakes struct {
	heap wakeHeap
	next map[types.UID]time.Time
}

// add adds one wake, unless the object has an earlier one.
func (w *wakes) add(one wake) {
	if at, has := w.next[one.uid]; has && !one.at.Before(at) {
		return
	}
	if w.next == nil {
		w.next = map[types.UID]time.Time{}
	}
	w.next[one.uid] = one.at
	heap.Push(&w.heap, one)
}

// due reports whether a wake is before now.
func (w *wakes) due(now time.Time) bool { return len(w.heap) > 0 && now.After(w.heap[0].at) }

// take removes the earliest wake, and returns its object.
func (w *wakes) take() types.UID {
	one := heap.Pop(&w.heap).(wake) //nolint:forcetypeassert // it holds no other
	if w.next[one.uid].Equal(one.at) {
		delete(w.next, one.uid)
	}
	return one.uid
}

// wakeHeap implements heap.Interface.
type wakeHeap []wake

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h wakeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *wakeHeap) Push(one any)      { *h = append(*h, one.(wake)) } //nolint:forcetypeassert // it holds no other

func (h *wakeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
