// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Batch is the content of one Write.
type Batch struct {
	// Revision orders batches. A repeated batch keeps its revision.
	Revision int64
	// AsOf is the time of the batch, by the clock of the spans.
	AsOf time.Time
	// Journal is the identity of the journal of which this is a commit; 0 for a batch from elsewhere,
	// such as an import. An archive that is Paired keeps it.
	Journal int64

	// Finished are complete traces. Only amendments may follow.
	Finished []*span.Trace
	// Amendments are additional spans of traces. Their outcomes and reasons are ignored.
	Amendments []*span.Trace
	// Rollups are those of traces that another archive has removed, all of one trace together. They are ignored if
	// the archive has rollups of their trace.
	Rollups []Rollup
}

// Validate returns an error for an invalid batch, or nil.
func (b *Batch) Validate() error {
	if b.Revision <= 0 {
		return fmt.Errorf("batch has revision %d, which is not positive", b.Revision)
	}
	if b.AsOf.IsZero() {
		return fmt.Errorf("batch %d has no time (AsOf)", b.Revision)
	}
	for _, traces := range [][]*span.Trace{b.Finished, b.Amendments} {
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
