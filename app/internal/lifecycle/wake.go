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

// wakes is a heap, the earliest first. An object may be in it several times: a wake in vain changes nothing.
type wakes struct{ heap wakeHeap }

// add adds one wake.
func (w *wakes) add(one wake) { heap.Push(&w.heap, one) }

// due reports whether a wake is before now.
func (w *wakes) due(now time.Time) bool { return len(w.heap) > 0 && now.After(w.heap[0].at) }

// take removes the earliest wake, and returns its object.
func (w *wakes) take() types.UID { return heap.Pop(&w.heap).(wake).uid } //nolint:forcetypeassert // it holds no other

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
