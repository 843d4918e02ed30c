// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

// Filter and Score run for each node. Reading the clock twice takes longer than most plugins do, so
// only the calls for some nodes have a time.
const (
	// alwaysTimed are the first nodes in Filter. Of the others, one of timedShare has times.
	alwaysTimed = 4
	timedShare  = 32
	// timedScores is the number of nodes in Score that have times.
	timedScores = 4
)

// call is what one plugin did at one extension point in one attempt. Filter and Score run for many
// nodes at once.
type call struct {
	point  point
	plugin string
	// fixed is the encoded part of the span that is the same for each attempt.
	fixed []byte
	// twin has the attempt in which the plugin runs now.
	twin *twin

	// timed counts the calls with a time, and busy is their total duration. first and last are the
	// start of the first and the end of the last of them, in nanoseconds since the attempt's start;
	// first is 0 before.
	timed, busy, first, last atomic.Int64

	mu     sync.Mutex
	status *fwk.Status // the last one that was no success
	// normalizing is the duration of NormalizeScore.
	normalizing int64
	rejections  rejections
	kept        int // the nodes that PreFilter left, or -1 for all
	preemption  *preemption
}

// begin returns the start of a call with a time.
func (c *call) begin() int64 {
	start := c.twin.attempt.now()
	if c.first.Load() == 0 {
		c.first.CompareAndSwap(0, start)
	}
	return start
}

// end records the end of a call that began at start.
func (c *call) end(start int64) {
	end := c.twin.attempt.now()
	c.timed.Add(1)
	c.busy.Add(end - start)
	c.last.Store(end) // calls that end at once differ by less than is shown
}

// duration returns the duration of a number of calls, in seconds.
func (c *call) duration(calls int64) float64 {
	timed := c.timed.Load()
	if timed == 0 {
		return 0
	}
	return (float64(c.busy.Load())*float64(calls)/float64(timed) + float64(c.normalizing)) / 1e9
}

// finish records the end of a call and its status.
func (c *call) finish(start int64, status *fwk.Status) {
	c.end(start)
	c.result(status)
}

// result records a status.
func (c *call) result(status *fwk.Status) {
	if !status.IsSuccess() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.status = status
	}
}

// reject records that the plugin rejected a node.
func (c *call) reject(node string, status *fwk.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
	c.rejections.add(node, status.Reasons()...)
}

// skipped reports whether the plugin had nothing to do for the Pod.
func (c *call) skipped() bool { return c.status.IsSkip() }

// ran reports whether a call of the plugin had a time, or a status that was no success.
func (c *call) ran() bool { return c.first.Load() > 0 || c.status != nil }

// reset prepares the call for the next attempt.
func (c *call) reset() {
	if !c.ran() {
		return
	}
	c.timed.Store(0)
	c.busy.Store(0)
	c.first.Store(0)
	c.last.Store(0)
	c.status, c.normalizing, c.rejections, c.kept, c.preemption = nil, 0, rejections{}, 0, nil
}
