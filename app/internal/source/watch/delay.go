// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// delayFor is the time for which a delay counts.
const delayFor = 30 * time.Second

// delay is the longest time from a write to its observation in about the last delayFor. It is safe for
// concurrent use.
type delay struct {
	mu   sync.Mutex
	last time.Duration
	at   time.Time
}

func (d *delay) note(last time.Duration, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last >= d.last || now.Sub(d.at) > delayFor {
		d.last, d.at = last, now
	}
}

func (d *delay) get(now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.at) > delayFor {
		return 0
	}
	return d.last
}

// meter measures the delays of one stream.
type meter struct {
	// newest is the API server's newest time in the changes of the watch, or the time of its start.
	newest time.Time
}

// start begins the measurement. A later watch resumes where the last one ended, and its delay counts.
func (m *meter) start(now time.Time) {
	if m.newest.IsZero() {
		m.newest = now
	}
}

// measure returns the delay of a change. It is known if the API server's newest time in the change is
// later than all before. Other changes may have an older time: that of a deletion is of the write before
// it. Components set the times of Events; they may be older, too. So only the creation of an Event counts.
func (m *meter) measure(obj metav1.Object, o *observation.Observation) (took time.Duration, known bool) {
	var at time.Time
	if o.State == nil {
		at = obj.GetCreationTimestamp().Time
	} else {
		at = o.State.Created
		for i := range o.State.Managers {
			if t := o.State.Managers[i].Time; t.After(at) {
				at = t
			}
		}
	}
	if !at.After(m.newest) {
		return 0, false
	}
	m.newest = at
	if o.Seen.Before(at) {
		m.newest = o.Seen // a clock is ahead, or the time is forged
	}
	return max(0, o.Seen.Sub(at)-time.Second), true // the times have whole seconds
}
