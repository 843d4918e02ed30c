// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Batch is what is stored in one go: what has changed since the batch before,
// and the state from which its writer would go on.
type Batch struct {
	// Revision orders batches. Each has its own, above all those before it,
	// across restarts (Stats tells the highest); a batch that is repeated
	// keeps it.
	Revision int64
	// AsOf is when the traces stood so, by the clock that their spans have.
	AsOf time.Time

	// Open are traces of which more is expected, each with all its spans. A
	// trace is in one of Open, Finished and Withdrawn, and there once.
	Open []*span.Trace
	// Finished are traces of which only amendments may follow.
	Finished []*span.Trace
	// Withdrawn were open, and turned out to be none.
	Withdrawn []trace.TraceID
	// Amendments are spans that are added to traces; the outcomes and reasons
	// beside them mean nothing.
	Amendments []*span.Trace

	// State is kept by name for the writer's next start. Nil removes a name;
	// names that are not here stay as they are.
	State map[string][]byte
}

// Validate says what is wrong with b; nil if nothing is.
func (b *Batch) Validate() error {
	if b.Revision <= 0 {
		return fmt.Errorf("batch has revision %d, which is not positive", b.Revision)
	}
	if b.AsOf.IsZero() {
		return fmt.Errorf("batch %d does not say when it was made", b.Revision)
	}
	for _, traces := range [][]*span.Trace{b.Open, b.Finished, b.Amendments} {
		for _, t := range traces {
			if err := check(t); err != nil {
				return fmt.Errorf("batch %d: %w", b.Revision, err)
			}
		}
	}
	return nil
}

func check(t *span.Trace) error {
	if !t.ID.IsValid() {
		return errors.New("trace without an ID")
	}
	if len(t.Spans) == 0 {
		return fmt.Errorf("trace %s has no spans", t.ID)
	}
	for _, s := range t.Spans {
		if s.TraceID != t.ID {
			return fmt.Errorf("trace %s has a span %s of trace %s", t.ID, s.ID, s.TraceID)
		}
	}
	return nil
}
