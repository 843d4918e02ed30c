// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/recent"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Parts summarizes visible parts of traces. Versions of an open trace with the same visible part have the time of the
// first one of them that was asked for: a later one would show when hidden work went on. It is safe for concurrent use.
type Parts struct {
	known recent.Cache[partKey, partSince]
}

// partKey is a trace within the Key of a scope.
type partKey struct {
	scope string
	id    trace.TraceID
}

// partSince is the content of a part, and the time of its first version.
type partSince struct {
	content [sha256.Size]byte
	asOf    time.Time
}

// maxKnownParts bounds the remembered times.
const maxKnownParts = 100_000

// NewParts returns Parts without a memory yet.
func NewParts() *Parts { return &Parts{recent.Cache[partKey, partSince]{Size: maxKnownParts}} }

// Summarize returns the summary of the visible part of a trace within a scope, given that of the whole.
func (p *Parts) Summarize(scope string, visible *span.Trace, whole *Summary) Summary {
	asOf := whole.AsOf
	if whole.Open {
		key := partKey{scope, visible.ID}
		now := partSince{sha256.Sum256(span.PackTrace(visible)), asOf}
		if before, known := p.known.Get(key); known && before.content == now.content {
			asOf = before.asOf
		} else {
			p.known.Put(key, now)
		}
	}
	out := Summarize(visible, asOf)
	out.Open, out.Pinned, out.AsOf, out.Revision = whole.Open, whole.Pinned, asOf, whole.Revision
	return out
}
