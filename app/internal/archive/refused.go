// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// maxRefusals bounds the attempts with a whole batch.
	maxRefusals = 5
	// maxOneByOne bounds the entries of one writeOneByOne.
	maxOneByOne = 100
)

// writeError is an error of the archive for a batch.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// isRefusal reports whether the batch may be the reason for err. Lack of space, for example, has
// another one, and ends without a change of the batch.
func isRefusal(err error) bool {
	var write *writeError
	if !errors.As(err, &write) {
		return false
	}
	for _, other := range []error{
		store.ErrDamaged, store.ErrFull, store.ErrReadOnly, store.ErrInUse, store.ErrUnavailable, store.ErrClosed,
		store.ErrSystem, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// errUnreadable is the reason for an entry among refused ones that cannot be read.
var errUnreadable = &writeError{errors.New("it cannot be read from the journal")}

// refusals counts the refusals of the batch that begins with the entry first.
type refusals struct {
	first uint64
	count int
}

// areEnough counts a refusal of the batch that begins with an entry. It reports whether there were
// enough attempts.
func (r *refusals) areEnough(first uint64) bool {
	if r.first != first {
		r.first, r.count = first, 0
	}
	r.count++
	return r.count >= maxRefusals
}

// writeOneByOne writes the entries of the first look one by one. Refused ones wait until the archive
// has accepted a later entry, perhaps of another look. Then each is written again, and left out after
// a second refusal. Without a later success the archive is at fault, and all entries wait.
//
// Otherwise a retry is the same batch. A batch may be divided or reordered, since the traces of a batch
// are independent. What is stored of a trace depends on its content and revision alone. A
// repeated write has no effect.
func (w *Writer) writeOneByOne(ctx context.Context, archive store.Archive) error {
	items := w.backlog.first(maxOneByOne)
	first := 0 // the first refused entry; the number of the present one without any
	var refusal error
	for at, i := range items {
		if first == at && i.Revision != items[0].Revision {
			return nil
		}
		lost, err := w.opts.write(ctx, archive, []journal.Item{i})
		if err == nil && lost > 0 && first < at { // nothing was written, so the archive accepted nothing
			err = errUnreadable
		}
		if isRefusal(err) {
			if first == at {
				refusal = err
			}
			continue
		}
		if err != nil {
			return err
		}
		for ; first < at; first++ {
			if err := w.writeAgain(ctx, archive, items[first]); err != nil {
				return err
			}
		}
		w.leave(1, lost)
		first++
	}
	if first < len(items) {
		return refusal
	}
	return nil
}

// writeAgain writes the first entry that waits, which the archive refused before. After another
// refusal it is left out.
func (w *Writer) writeAgain(ctx context.Context, archive store.Archive, i journal.Item) error {
	lost, err := w.opts.write(ctx, archive, []journal.Item{i})
	if isRefusal(err) {
		lost = i.Spans
		if w.opts.Refused != nil {
			w.opts.Refused(i, err)
		}
	} else if err != nil {
		return err
	}
	w.leave(1, lost)
	return nil
}
