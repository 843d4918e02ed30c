// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// maxTriggers bounds what is kept for one request.
	maxTriggers = 8
	// maxTriggered bounds the requests for which triggers are kept.
	maxTriggered = 16384
)

// trigger is an event that asked for a reconcile.
type trigger struct {
	obj     client.Object
	context trace.SpanContext
	at      time.Time // when the event reached the operator
}

// pending is what asked for one request since it was last taken up.
type pending struct {
	events []trigger
	missed int
}

type triggerKey struct {
	controller string
	request    reconcile.Request
}

// triggers remembers, from the event to the reconcile, what asked for it. The
// zero value is ready.
type triggers struct {
	mu      sync.Mutex
	waiting map[triggerKey]pending
}

// add notes a trigger; beyond the bounds it is only counted.
func (t *triggers) add(key triggerKey, tr trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, known := t.waiting[key]
	switch {
	case !known && len(t.waiting) >= maxTriggered:
		return
	case len(p.events) >= maxTriggers:
		p.missed++
	default:
		for _, e := range p.events {
			if e.context.Equal(tr.context) {
				return
			}
		}
		p.events = append(p.events, tr)
	}
	if t.waiting == nil {
		t.waiting = map[triggerKey]pending{}
	}
	t.waiting[key] = p
}

// take returns what asked for the request and forgets it.
func (t *triggers) take(key triggerKey) pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.waiting[key]
	if ok {
		delete(t.waiting, key)
	}
	return p
}
