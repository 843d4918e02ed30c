// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Writes implements store.Reader.
func (v *View) Writes(ctx context.Context, q store.WriteQuery) (page *store.WritePage, err error) {
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	q.Scope = from.scope
	err = v.limits.search(ctx, q.Costly(), func(ctx context.Context) (err error) {
		page, err = (&writes{from, q}).page(ctx)
		return err
	})
	return page, err
}

// writes is the answer to a query of writes.
type writes struct {
	*reading
	q store.WriteQuery
}

func (r *writes) page(ctx context.Context) (*store.WritePage, error) {
	l := &lister[store.Write]{
		limit: store.PageLength(r.q.Limit),
		key:   func(w *store.Write) string { return string(position(w)) },
		order: func(a, b *store.Write) int {
			return cmp.Or(b.End.Compare(a.End), bytes.Compare(position(b), position(a)))
		},
	}
	if r.q.After != "" {
		at, key, err := r.q.After.Position(writeKey)
		if err != nil {
			return nil, err
		}
		l.after = func(w *store.Write) bool {
			return cmp.Or(cmp.Compare(w.End.UnixNano(), at), bytes.Compare(position(w), key)) < 0
		}
	}
	if err := r.add(ctx, r.entries(), l); err != nil {
		return nil, err
	}
	out := &store.WritePage{Incomplete: r.behind}
	if err := r.archived(ctx, l); away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	out.Incomplete = cmp.Or(out.Incomplete, r.partial)
	var more bool
	if out.Writes, more = l.page(); more {
		last := &out.Writes[len(out.Writes)-1]
		out.Next = store.NewCursor(last.End.UnixNano(), position(last))
	}
	return out, nil
}

// add adds the matching writes of traces.
func (r *writes) add(ctx context.Context, among []*held, to *lister[store.Write]) error {
	return r.eachOf(ctx, among, func(t *span.Trace) {
		for _, s := range t.Spans {
			for _, w := range store.WritesOf(s) {
				if r.q.Fits(&w) {
					to.add(w)
				}
			}
		}
	})
}

// archived adds the matching writes of the archive.
func (r *writes) archived(ctx context.Context, to *lister[store.Write]) error {
	archive, err := r.archive()
	if err != nil {
		return err
	}
	q := r.q
	q.Scope.Except = slices.Concat(q.Scope.Except, r.unarchived())
	if err := to.fill(func() (page []store.Write, last bool, err error) {
		p, err := archive.Writes(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After = p.Next
		return p.Writes, p.Next == "", nil
	}); err != nil || r.all == nil {
		return err
	}
	of := store.SharedQuery{Since: r.q.Since, Until: r.q.Until, Object: r.q.Object}
	if r.q.TraceID.IsValid() {
		of.IDs = []trace.TraceID{r.q.TraceID}
	}
	if least := to.least(); least != nil && least.End.After(of.Since) {
		of.Since = least.End
	}
	if r.q.After != "" {
		at, _, err := r.q.After.Position(writeKey)
		if err != nil {
			return err
		}
		of.Until = behindCursor(of.Until, at)
	}
	shared, err := r.shared(ctx, archive, of)
	if err != nil {
		return err
	}
	return r.add(ctx, shared, to)
}

// writeKey is the length of a write's position among those of one time: its trace, its span, and its
// number there.
const writeKey = len(trace.TraceID{}) + len(trace.SpanID{}) + 4

func position(w *store.Write) []byte {
	key := make([]byte, 0, writeKey)
	key = append(append(key, w.TraceID[:]...), w.SpanID[:]...)
	return binary.BigEndian.AppendUint32(key, uint32(w.Number)) //nolint:gosec // a count
}
