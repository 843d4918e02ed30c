// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// sampling decides by trace ID which traces are kept, like every component that samples by trace-ID
// ratio. The zero value keeps none.
type sampling struct {
	// ratePerMillion is the number of kept changes in a million.
	ratePerMillion int
	// failed keeps every failed change. slower keeps every change of at least that duration, if
	// positive.
	failed bool
	slower time.Duration
}

// keeps reports whether t is kept. A context from outside at its root has already decided.
func (s sampling) keeps(t *span.Trace, now time.Time) bool {
	if sampled, decided := outside(t); decided && sampled || !decided && s.byRatio(t.ID) {
		return true
	}
	return s.failed && t.Outcome.InVain() || s.slower > 0 && took(t, now) >= s.slower
}

// byRatio decides like OpenTelemetry's TraceIDRatioBased.
func (s sampling) byRatio(id trace.TraceID) bool {
	const million = 1_000_000
	if s.ratePerMillion >= million {
		return true
	}
	bound := uint64(float64(s.ratePerMillion) / million * (1 << 63))
	return binary.BigEndian.Uint64(id[8:16])>>1 < bound
}

// outside returns the sampling decision of the context from outside that began t, if there is one.
func outside(t *span.Trace) (sampled, decided bool) {
	root := t.Root()
	if root == nil || !root.RemoteParent {
		return false, false
	}
	for _, a := range root.Attributes {
		if a.Key == span.KeyParentSampled {
			return a.Value.AsBool(), true
		}
	}
	return false, false
}

// took is the duration of t's root so far.
func took(t *span.Trace, now time.Time) time.Duration {
	root := t.Root()
	if root == nil {
		return 0
	}
	return root.Duration(now)
}
