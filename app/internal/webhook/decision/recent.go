// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

// recent remembers under which contexts objects were admitted lately: a Pod's
// creation can arrive before its ReplicaSet's has been answered. It forgets the
// older half when it is full.
type recent struct {
	now, before map[lifeline.ObjectHash]admitted
}

type admitted struct {
	context trace.SpanContext
	at      time.Time
}

const (
	// maxRecent is how many objects each half remembers.
	maxRecent = 1 << 13
	// unseen is for how long an admitted object may not have been seen stored.
	unseen = 10 * time.Second
)

func newRecent() recent {
	return recent{now: map[lifeline.ObjectHash]admitted{}, before: map[lifeline.ObjectHash]admitted{}}
}

// note remembers an object whose name is known.
func (r *recent) note(id lifeline.Identity, sc trace.SpanContext, at time.Time) {
	if id.Name == "" {
		return
	}
	if len(r.now) >= maxRecent {
		r.now, r.before = r.before, r.now
		clear(r.now)
	}
	id.UID = ""
	r.now[id.Hash()] = admitted{sc, at}
}

// of returns the context under which the object of a name was admitted just now.
func (r *recent) of(id lifeline.Identity, now time.Time) (trace.SpanContext, bool) {
	h := id.Hash()
	a, known := r.now[h]
	if !known {
		a, known = r.before[h]
	}
	return a.context, known && now.Sub(a.at).Abs() < unseen
}
