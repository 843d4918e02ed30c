// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

const (
	// maxTriggers bounds what is kept for one request.
	maxTriggers = 8
	// maxTriggered bounds the requests for which triggers are kept; the least
	// recently asked for are forgotten first.
	maxTriggered = 16384
)

// trigger is an event that asked for a reconcile.
type trigger struct {
	context trace.SpanContext
	stored  stored
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

// triggers remembers, from the event to the reconcile, what asked for it.
type triggers struct {
	mu      sync.Mutex // for what is read, changed and kept again
	waiting *lru.Cache // of triggerKey to pending
}

func newTriggers() *triggers { return &triggers{waiting: lru.New(maxTriggered)} }

// add notes a trigger; beyond the bounds it is only counted.
func (t *triggers) add(key triggerKey, tr trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(key)
	for _, e := range p.events {
		if supply.SameSpan(e.context, tr.context) {
			return
		}
	}
	if len(p.events) < maxTriggers {
		p.events = append(p.events, tr)
	} else {
		p.missed++
	}
	t.waiting.Add(key, p)
}

// take returns what asked for the request and forgets it.
func (t *triggers) take(key triggerKey) pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(key)
	if p.events != nil {
		t.waiting.Remove(key)
	}
	return p
}

// of returns what is kept. The caller holds mu.
func (t *triggers) of(key triggerKey) pending {
	if t.waiting.Len() == 0 {
		return pending{}
	}
	v, _ := t.waiting.Get(key)
	p, _ := v.(pending)
	return p
}
