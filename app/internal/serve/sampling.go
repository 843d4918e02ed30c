// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// sampling decides which traces are kept: by their IDs, so that every component
// that samples by trace-ID ratio decides alike. The zero value keeps none.
type sampling struct {
	// ratePerMillion is how many of a million changes are kept.
	ratePerMillion int
	// failed keeps every change that failed; slower every one that took at
	// least so long, if it is positive.
	failed bool
	slower time.Duration
}

// keeps reports whether t is kept. A context from outside that began the trace
// has decided already.
func (s sampling) keeps(t *span.Trace, now time.Time) bool {
	if sampled, decided := outside(t); decided && sampled || !decided && s.byRatio(t.ID) {
		return true
	}
	return s.failed && t.Outcome == span.Failed || s.slower > 0 && took(t, now) >= s.slower
}

// byRatio decides as OpenTelemetry's TraceIDRatioBased does.
func (s sampling) byRatio(id trace.TraceID) bool {
	const million = 1_000_000
	if s.ratePerMillion >= million {
		return true
	}
	bound := uint64(float64(s.ratePerMillion) / million * (1 << 63))
	return binary.BigEndian.Uint64(id[8:16])>>1 < bound
}

// outside is what the context from outside that began t has decided, if one
// did.
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

// took is how long the root of t took, so far.
func took(t *span.Trace, now time.Time) time.Duration {
	root := t.Root()
	if root == nil {
		return 0
	}
	return root.Duration(now)
}
