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
	// maxTriggers limits the stored triggers of one request.
	maxTriggers = 8
	// maxTriggered limits the requests with stored triggers. The least recently used are dropped
	// first.
	maxTriggered = 16384
)

// trigger is an event that caused a reconcile request.
type trigger struct {
	context trace.SpanContext
	stored  stored
	at      time.Time // when the event reached the operator
}

// pending are the triggers of one request since its last reconcile.
type pending struct {
	events []trigger
	missed int
}

type triggerKey struct {
	controller string
	request    reconcile.Request
}

// triggers stores the triggers of requests, from event to reconcile.
type triggers struct {
	mu      sync.Mutex // guards read-modify-write of entries
	waiting *lru.Cache // of triggerKey to pending
}

func newTriggers() *triggers { return &triggers{waiting: lru.New(maxTriggered)} }

// add stores a trigger. Beyond maxTriggers it only counts.
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

// take returns the triggers of a request and removes them.
func (t *triggers) take(key triggerKey) pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(key)
	if p.events != nil {
		t.waiting.Remove(key)
	}
	return p
}

// of returns the stored triggers. The caller holds mu.
func (t *triggers) of(key triggerKey) pending {
	if t.waiting.Len() == 0 {
		return pending{}
	}
	v, _ := t.waiting.Get(key)
	p, _ := v.(pending)
	return p
}
