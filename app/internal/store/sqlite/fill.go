// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// fillTime bounds the time of one transaction that fills derived tables, apart from its last
	// trace, so that other writes wait only briefly.
	fillTime = 20 * time.Millisecond
	// fillAtOnce bounds the traces of one transaction.
	fillAtOnce = 50
	// fillAgain is the pause after an error.
	fillAgain = 30 * time.Second
)

// filling fills the derived tables of the traces that an earlier version has written, the latest
// first. Each trace is marked with its data in one transaction, so a kill costs nothing.
type filling struct {
	// total is the number of such traces at the start, and done of those that are filled.
	total int64
	done  atomic.Int64
	stop  context.CancelFunc
	ended chan struct{}
}

// startFilling starts the goroutine if there is work.
func (s *Store) startFilling() {
	f := &s.filling
	if f.total == 0 {
		return
	}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	f.ended = make(chan struct{})
	go func() {
		defer close(f.ended)
		s.fill(ctx)
	}()
}

// stopFilling ends the goroutine and waits for it.
func (s *Store) stopFilling() {
	if s.filling.stop != nil {
		s.filling.stop()
		<-s.filling.ended
	}
}

// incomplete describes the traces without derived tables; empty if there are none.
func (s *Store) incomplete() string {
	f := &s.filling
	if done := f.done.Load(); done < f.total {
		return fmt.Sprintf("the archive of an earlier version is being read: %d of %d traces are done", done, f.total)
	}
	return ""
}

// fill works until all is done or ctx ends. It rests as long as it works, for the sake of readers.
func (s *Store) fill(ctx context.Context) {
	for {
		began := time.Now()
		n, err := s.fillSome(ctx)
		pause := time.Since(began)
		switch {
		case errors.Is(err, store.ErrClosed):
			return
		case err != nil:
			pause = fillAgain
		case n == 0:
			s.filling.done.Store(s.filling.total)
			return
		default:
			s.filling.done.Store(min(s.filling.done.Load()+n, s.filling.total))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// underived is a trace without derived tables, with its data for them.
type underived struct {
	underivedHead
	spans   []*span.Span
	courses []store.Course
	work    []insight.Work
	// failed means that its spans cannot be read.
	failed bool
}

// underivedHead is the row of such a trace. count is its number of spans.
type underivedHead struct {
	former
	count int64
}

// fillSome fills some traces, and returns their number. It reads them before the transaction.
func (s *Store) fillSome(ctx context.Context) (int64, error) {
	var todo []*underived
	began := time.Now()
	err := s.db.Read(ctx, func(q database.Querier) error {
		heads, err := underivedHeads(ctx, q)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if len(todo) > 0 && time.Since(began) > fillTime {
				break
			}
			one, err := readUnderived(ctx, q, h)
			if err != nil {
				return err
			}
			todo = append(todo, one)
		}
		return nil
	})
	if err != nil || len(todo) == 0 {
		return 0, err
	}
	var n int64
	err = s.db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		n = 0
		d, began := newDeriver(tx, s), time.Now()
		for _, one := range todo {
			if n > 0 && time.Since(began) > fillTime {
				break
			}
			if err := d.fill(steady, one); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// underivedHeads returns the next traces without derived tables.
func underivedHeads(ctx context.Context, q database.Querier) ([]underivedHead, error) {
	var out []underivedHead
	var h underivedHead
	var id []byte
	err := database.Scan(
		ctx, q,
		"SELECT num, id, revision, as_of, outcome, reason, spans FROM traces WHERE derived = 0 AND phase = 2 "+
			"ORDER BY num DESC LIMIT ?",
		[]any{fillAtOnce},
		[]any{&h.num, &id, &h.revision, &h.asOf, &h.outcome, &h.reason, &h.count},
		func() error { h.id = traceID(id); out = append(out, h); return nil },
	)
	return out, err
}

// readUnderived reads the spans of a trace. It returns an error only if others could not be read
// either.
func readUnderived(ctx context.Context, q database.Querier, h underivedHead) (*underived, error) {
	out := &underived{underivedHead: h}
	r := &reading{Querier: q, version: len(migrations)}
	rows, err := r.spans(ctx, h.num, h.id, true)
	if errors.Is(err, store.ErrDamaged) && ctx.Err() == nil {
		out.failed = true
		return out, nil
	}
	own := &span.Trace{ID: h.id, Outcome: h.outcome, Reason: h.reason}
	for _, row := range rows {
		out.spans = append(out.spans, row.Span)
		if !row.amends {
			own.Spans = append(own.Spans, row.Span)
		}
	}
	out.courses = coursesOf(own, moment(h.asOf))
	out.work = insight.Longest(insight.CriticalPath(own, moment(h.asOf)))
	return out, err
}

// fill writes the derived tables of a trace, unless it has changed or is gone.
func (d *deriver) fill(ctx context.Context, one *underived) error {
	same := false
	if err := database.Scan(
		ctx, d, "SELECT revision = ? AND spans = ? FROM traces WHERE num = ? AND id = ? AND derived = 0 AND phase = 2",
		[]any{one.revision, one.count, one.num, one.id[:]}, []any{&same}, nothing,
	); err != nil {
		return err
	}
	mark := 1
	switch {
	case !same:
		return nil // the next turn reads it again, unless it is gone
	case one.failed:
		mark = -1
	default:
		if err := d.replace(ctx, one.num, one.spans, one.courses); err != nil {
			return err
		}
		if err := d.audited(ctx, one.num, one.spans); err != nil {
			return err
		}
	}
	return d.Exec(
		ctx, "UPDATE traces SET derived = ?, work = ? WHERE num = ? AND id = ?",
		mark, encodeWork(one.work), one.num, one.id[:],
	)
}

// audited adds the IDs of the audit log to the writes of a trace.
func (d *deriver) audited(ctx context.Context, num int64, spans []*span.Span) error {
	for _, s := range spans {
		for _, w := range store.WritesOf(s) {
			if w.AuditID == "" {
				continue
			}
			if err := d.Exec(
				ctx, "UPDATE writes SET audit_id = ? WHERE trace = ? AND span = ? AND num = ?",
				text(w.AuditID), num, s.ID[:], w.Number,
			); err != nil {
				return err
			}
		}
	}
	return nil
}
