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
	// maxSifted bounds the entries of one sift.
	maxSifted = 100
)

// writeError is an error of the archive for a batch.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// refuses reports whether the batch may be the reason for err. Lack of space, for example, has
// another one, and ends without a change of the batch.
func refuses(err error) bool {
	var write *writeError
	if !errors.As(err, &write) {
		return false
	}
	for _, other := range []error{
		store.ErrDamaged, store.ErrFull, store.ErrReadOnly, store.ErrInUse, store.ErrUnavailable, store.ErrClosed,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// errUnreadable is the reason for an entry among refused ones that cannot be read.
var errUnreadable = &writeError{errors.New("it cannot be read from the journal")}

// again counts a refusal of the batch that begins with an entry. It reports whether there were
// enough attempts.
func (w *Writer) again(first uint64) bool {
	if w.refused != first {
		w.refused, w.refusals = first, 0
	}
	w.refusals++
	return w.refusals >= maxRefusals
}

// sift writes the entries of the first look one by one. Refused ones are left out, but only once the
// archive has accepted a later entry, perhaps of another look: otherwise the archive is at fault, and
// all entries wait.
//
// A retry is otherwise the same batch. Splitting a batch is safe: what is stored of a trace depends
// on its own content and the revision, and not on the other traces of the batch. So a part that an
// earlier attempt has stored is repeated without effect.
func (w *Writer) sift(ctx context.Context, archive store.Archive) error {
	w.mu.Lock()
	items := append([]journal.Item{}, w.waiting[:min(maxSifted, len(w.waiting))]...)
	w.mu.Unlock()
	var refused []error
	for at, i := range items {
		if len(refused) == 0 && i.Revision != items[0].Revision {
			return nil
		}
		lost, err := w.put(ctx, archive, []journal.Item{i})
		if err == nil && lost > 0 && len(refused) > 0 { // nothing was written, so the archive accepted nothing
			err = errUnreadable
		}
		if refuses(err) {
			refused = append(refused, err)
			continue
		}
		if err != nil {
			return err
		}
		for n, why := range refused {
			one := items[at-len(refused)+n]
			lost += one.Spans
			if w.opts.Refused != nil {
				w.opts.Refused(one, why)
			}
		}
		w.leave(len(refused)+1, lost)
		refused = nil
	}
	if len(refused) > 0 {
		return refused[0]
	}
	return nil
}
