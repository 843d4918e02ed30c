// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

// recent holds the contexts of the latest admitted objects: a Pod's creation can arrive before the
// answer to its ReplicaSet's creation. A full recent drops its older half.
type recent struct {
	now, before map[lifeline.ObjectHash]admitted
}

type admitted struct {
	context trace.SpanContext
	at      time.Time
}

const (
	// maxRecent bounds the objects in each half.
	maxRecent = 1 << 13
	// unseen bounds the time from an object's admission until the server observes its stored
	// version.
	unseen = 10 * time.Second
)

func newRecent() recent {
	return recent{now: map[lifeline.ObjectHash]admitted{}, before: map[lifeline.ObjectHash]admitted{}}
}

// note adds an object with a name.
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

// of returns the context of a recently admitted object.
func (r *recent) of(id lifeline.Identity, now time.Time) (trace.SpanContext, bool) {
	h := id.Hash()
	a, found := r.now[h]
	if !found {
		a, found = r.before[h]
	}
	return a.context, found && now.Sub(a.at).Abs() < unseen
}
