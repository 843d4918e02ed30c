// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Taken holds the remembered facts about a handed-out trace.
type Taken struct {
	// At is the time of the handover. Latest is the Latest of the lineage at that time.
	At, Latest time.Time
	// Outside means that the trace began with a context from outside.
	Outside bool
	// Originations are the resourceVersions, in order, of the writes in the trace by their
	// contexts: on their objects, or in their requests. No other write with a context of the trace
	// is part of it.
	Originations []uint64
	// Outcome is the outcome of the whole trace without the objects in Blocking. Each of these has failed or is
	// unfinished, none below another, and a later version of it may revise that. Nil means that the outcome is final.
	// Root is the span of the first reconciliation, if a claim about it may change Outcome.
	Outcome  span.Outcome
	Blocking []types.UID
	Root     trace.SpanID
}

// Has reports whether the write with the resourceVersion rv is one of the Originations.
func (t *Taken) Has(rv uint64) bool {
	_, found := slices.BinarySearch(t.Originations, rv)
	return found
}
