// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"sync"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

// maxReasons limits the different reasons of one plugin in one attempt. A plugin can put values of
// the node into its reasons.
const maxReasons = 8

// The first calls of a plugin have a time, and then one of several.
const (
	alwaysTimed = 16
	timedShare  = 8
)

// maxExamples limits the named nodes of a reason.
const maxExamples = 3

// call is what one plugin did at one extension point in one attempt. Filter and Score run for many
// nodes at once.
type call struct {
	point  point
	plugin string
	// attempt is the attempt in which the plugin runs now.
	attempt *attempt

	// calls counts the calls. timed counts those with a time, and busy is their total duration. first
	// and last are the start of the first and the end of the last of them, in nanoseconds since the
	// attempt's start; first is 0 before.
	calls, timed, busy, first, last atomic.Int64

	mu       sync.Mutex
	status   *fwk.Status // the last one that was no success
	rejected int
	reasons  []reason
	kept     int // the nodes that PreFilter left, or -1 for all
}

// reason is why a plugin rejected nodes.
type reason struct {
	text     string
	nodes    int
	examples []string
}

// begin returns the start of a call, or 0 for a call without a time: reading the clock twice takes
// longer than most plugins.
func (c *call) begin() int64 {
	if n := c.calls.Add(1); n > alwaysTimed && n%timedShare != 0 {
		return 0
	}
	start := c.attempt.now()
	if c.first.Load() == 0 {
		c.first.CompareAndSwap(0, start)
	}
	return start
}

// end records the end of a call that began at start.
func (c *call) end(start int64) {
	if start == 0 {
		return
	}
	end := c.attempt.now()
	c.timed.Add(1)
	c.busy.Add(end - start)
	c.last.Store(end) // calls that end at once differ by less than is shown
}

// duration returns the duration of all calls, in seconds.
func (c *call) duration() float64 {
	timed := c.timed.Load()
	if timed == 0 {
		return 0
	}
	return float64(c.busy.Load()) / 1e9 * float64(c.calls.Load()) / float64(timed)
}

// finish records the end of a call and its status.
func (c *call) finish(start int64, status *fwk.Status) {
	c.end(start)
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
	c.rejected++
	text := ""
	if reasons := status.Reasons(); len(reasons) > 0 {
		text = reasons[0]
	}
	at := slices.IndexFunc(c.reasons, func(r reason) bool { return r.text == text })
	if at < 0 {
		if len(c.reasons) == maxReasons {
			return // the rejections without a reason are the difference to the sum
		}
		at = len(c.reasons)
		c.reasons = append(c.reasons, reason{text: text})
	}
	r := &c.reasons[at]
	r.nodes++
	if len(r.examples) < maxExamples {
		r.examples = append(r.examples, node)
	}
}

// skipped reports whether the plugin had nothing to do for the Pod.
func (c *call) skipped() bool { return c.status.IsSkip() }

// ran reports whether the plugin was called.
func (c *call) ran() bool { return c.calls.Load() > 0 }

// reset prepares the call for the next attempt.
func (c *call) reset() {
	c.attempt = nil
	c.calls.Store(0)
	c.timed.Store(0)
	c.busy.Store(0)
	c.first.Store(0)
	c.last.Store(0)
	c.status, c.rejected, c.reasons, c.kept = nil, 0, nil, 0
}
