// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// window is the number of traces that one query reads, by their numbers.
	window = 64
	// widest is the widest window in a part without traces.
	widest = 1 << 16
	// salvageAtOnce bounds the spans of a Part, apart from its last trace.
	salvageAtOnce = 5000
	// beyond is the length of the search after the last known number.
	beyond = 1024
)

// errWrong marks a trace that is readable and not as it was written.
var errWrong = fmt.Errorf("%w: it is not what was written", store.ErrDamaged)

// Part is a part of the traces of a damaged file.
type Part struct {
	// Batches are to be written to another archive.
	Batches []*store.Batch
	// Pinned are the pinned traces among them.
	Pinned []trace.TraceID
	// Salvaged counts this part.
	Salvaged
	// Next is where the next part begins, and End the end of all parts.
	Next, End int64
}

// Salvaged counts traces of a damaged file.
type Salvaged struct {
	// Traces and Spans were read.
	Traces, Spans int64
	// Lost traces have a part that is unreadable or not as it was written.
	Lost int64
	// Unreadable is the highest possible number of further traces in damaged places. Traces that
	// are missing without a damaged place are not counted.
	Unreadable int64
}

func (s *Salvaged) add(other Salvaged) {
	s.Traces += other.Traces
	s.Spans += other.Spans
	s.Lost += other.Lost
	s.Unreadable += other.Unreadable
}

// Salvage reads the finished traces of a damaged file that was set aside. The file stays unchanged.
// It calls into for each part, from the position of an earlier Part.Next on; 0 is the beginning. An
// error of into ends it. Salvage returns the sum of all parts. A file whose schema cannot be read is
// one error, store.ErrDamaged.
//
// A trace is read as a whole or not at all. Each row has a hash of its content.
func Salvage(
	ctx context.Context,
	path string,
	from int64,
	into func(context.Context, *Part) error,
) (Salvaged, error) {
	var out Salvaged
	db, err := database.OpenUnlocked(ctx, path, schema)
	if err != nil {
		return out, err
	}
	defer func() { _ = db.Close() }() // it has only read
	if db.Version() == 0 {
		return out, db.Failed(ctx, "salvage", fmt.Errorf("%w: it has no tables", store.ErrDamaged))
	}
	s := &salvage{db: db, width: window}
	if err := s.bounds(ctx); err != nil {
		return out, db.Failed(ctx, "salvage", err)
	}
	for at := max(from, s.first); at <= s.last; {
		part, err := s.part(ctx, at)
		if err != nil {
			return out, db.Failed(ctx, "salvage", err)
		}
		if err := into(ctx, part); err != nil {
			return out, err
		}
		out.add(part.Salvaged)
		at = part.Next
	}
	return out, nil
}

// salvage reads a damaged file.
type salvage struct {
	db *database.ReadOnly
	// first and last are the numbers of the traces at both ends.
	first, last int64
	// width is the width of the next window.
	width int64
}

// bounds finds the highest number of a trace. A damaged page at the end of a table may hold any
// number, so two tables must agree.
func (s *salvage) bounds(ctx context.Context) error {
	s.first = 1
	var ends []int64
	var errs []error
	for _, query := range []string{
		"SELECT max(num) FROM traces",
		"SELECT max(trace) FROM spans",
		"SELECT max(trace) FROM objects",
		"SELECT max(trace) FROM writes",
	} {
		var end *int64
		err := s.read(ctx, query, nil, []any{&end}, nothing)
		if ctx.Err() != nil {
			return err
		}
		if err == nil && end != nil {
			ends = append(ends, *end)
		}
		errs = append(errs, err)
	}
	slices.Sort(ends)
	switch n := len(ends); {
	case n > 1:
		s.last = ends[n-2] + beyond
	case n == 1:
		s.last = ends[0]
	default:
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("%w: no table can be read: %w", store.ErrDamaged, err)
			}
		}
	}
	return nil // without an end, the archive is empty
}

func (s *salvage) read(ctx context.Context, query string, args, to []any, each func() error) error {
	return s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, query, args, to, each)
	})
}

// part reads the traces from a number on.
func (s *salvage) part(ctx context.Context, at int64) (*Part, error) {
	p := &Part{End: s.last + 1}
	batches := batches{}
	for p.Next = at; p.Next <= s.last && p.Spans < salvageAtOnce; {
		upto := min(p.Next+s.width-1, s.last)
		heads, unreadable, err := s.heads(ctx, p.Next, upto)
		if err != nil {
			return nil, err
		}
		p.Unreadable += unreadable
		s.width = window
		if len(heads) == 0 && unreadable == 0 {
			s.width = min(2*(upto-p.Next+1), widest)
		}
		p.Next = upto + 1
		for _, h := range heads {
			if h.phase != finished {
				continue
			}
			rows, err := s.spans(ctx, h)
			if ctx.Err() != nil {
				return nil, err
			}
			if err != nil {
				p.Lost++
				continue
			}
			p.Traces++
			p.Spans += int64(len(rows))
			if h.pinned {
				p.Pinned = append(p.Pinned, h.id)
			}
			batches.divide(h, rows)
			if p.Spans >= salvageAtOnce {
				p.Next = h.num + 1
				break
			}
		}
	}
	p.Batches = slices.SortedFunc(maps.Values(batches), func(a, b *store.Batch) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.AsOf.Compare(b.AsOf))
	})
	return p, nil
}

// salvagedHead is the row of a trace.
type salvagedHead struct {
	head
	id     trace.TraceID
	spans  int64
	pinned bool
}

// heads reads the rows of the traces from lo to hi. It divides an unreadable range until each rest
// is one number, and returns how many those are.
func (s *salvage) heads(ctx context.Context, lo, hi int64) (out []salvagedHead, unreadable int64, err error) {
	var h salvagedHead
	var id []byte
	last := lo - 1
	which := "num BETWEEN ? AND ?"
	if lo == hi {
		which = "num = ? AND ? > 0" // does not read the next row
	}
	err = s.read(
		ctx,
		"SELECT num, id, phase, revision, as_of, outcome, reason, spans, pinned, digest FROM traces WHERE "+
			which+" ORDER BY num",
		[]any{lo, hi},
		[]any{
			&h.num, &id, &h.phase, &h.revision, &h.asOf, &h.outcome, &h.reason, &h.spans, &h.pinned, &h.stamp,
		},
		func() error {
			if h.num <= last || h.num > hi {
				return errWrong
			}
			last, h.id = h.num, traceID(id)
			if !h.plausible(len(id)) {
				return errWrong
			}
			out = append(out, h)
			return nil
		},
	)
	found := len(out)
	if err == nil && int64(found) <= hi-lo { // a page at a wrong place hides others
		var traces int
		if traces, err = s.withSpans(ctx, lo, hi); err == nil && traces > found {
			err = errWrong
		}
	}
	switch {
	case err == nil:
		return out, 0, nil
	case ctx.Err() != nil:
		return nil, 0, err
	case lo == hi:
		return nil, 1, nil
	}
	mid := lo + (hi-lo)/2
	left, one, err := s.heads(ctx, lo, mid)
	if err != nil {
		return nil, 0, err
	}
	right, two, err := s.heads(ctx, mid+1, hi)
	return append(left, right...), one + two, err
}

// withSpans returns the number of traces from lo to hi that have spans.
func (s *salvage) withSpans(ctx context.Context, lo, hi int64) (int, error) {
	var out int
	err := s.read(
		ctx, "SELECT count(DISTINCT trace) FROM spans WHERE trace BETWEEN ? AND ?", []any{lo, hi}, []any{&out}, nothing,
	)
	return out, err
}

// plausible reports whether the row of a trace is as it was written.
func (h *salvagedHead) plausible(idLength int) bool {
	if h.phase == unknown {
		return h.stamp == 0
	}
	return h.phase == finished && idLength == len(h.id) && h.id.IsValid() && h.revision > 0 && h.spans > 0 &&
		h.stamp == h.digest(h.id, h.spans)
}

// spans reads the spans of a trace, with amendments. It reads exactly their rows, since their
// neighbours may be damaged.
func (s *salvage) spans(ctx context.Context, h salvagedHead) ([]row, error) {
	var rows []row
	err := s.db.Read(ctx, func(q database.Querier) error {
		var err error
		if rows, err = exactly(ctx, q, h); err != nil {
			return err
		}
		refs, err := objects(ctx, q, h.num)
		if err != nil {
			refs = map[int64]object.Ref{} // those that can be read, one by one
		}
		refs[-1] = object.Ref{}
		makers := map[int64][]byte{-1: nil}
		for _, row := range rows {
			if err := readObject(ctx, q, h.num, row.object, refs); err != nil {
				return err
			}
			if err := readMaker(ctx, q, h.num, row.made, makers); err != nil {
				return err
			}
		}
		delete(makers, -1)
		if err := complete(rows, refs, makers); err != nil {
			return err
		}
		for _, row := range rows {
			if !row.correct() {
				return errWrong
			}
		}
		return nil
	})
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(
			cmp.Compare(amending(a.amends), amending(b.amends)),
			cmp.Compare(a.revision, b.revision),
			cmp.Compare(a.seq, b.seq),
			slices.Compare(a.ID[:], b.ID[:]),
		)
	})
	return rows, err
}

func amending(amends bool) int {
	if amends {
		return 1
	}
	return 0
}

// exactly reads the rows of a trace's spans. If their neighbours at one end are damaged, it reads
// from the other end.
func exactly(ctx context.Context, from database.Querier, h salvagedHead) ([]row, error) {
	known := map[trace.SpanID]bool{}
	var out []row
	var errs []error
	for _, order := range []string{"id", "id DESC"} {
		rows, err := readRows(ctx, from, h.id, "WHERE trace = ? ORDER BY "+order+" LIMIT ?", h.num, h.spans)
		for _, row := range rows {
			if !known[row.ID] {
				known[row.ID] = true
				out = append(out, row)
			}
		}
		if errs = append(errs, err); ctx.Err() != nil || int64(len(out)) == h.spans {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(errs...)
	case int64(len(out)) != h.spans:
		return nil, errWrong
	}
	return out, nil
}

// readObject reads one object of a trace.
func readObject(
	ctx context.Context, from database.Querier, num, n int64, known map[int64]object.Ref,
) error {
	if _, there := known[n]; there {
		return nil
	}
	var ref object.Ref
	err := database.Scan(
		ctx,
		from,
		"SELECT api_group, api_version, kind, namespace, name, uid FROM objects WHERE trace = ? AND num = ?",
		[]any{num, n},
		[]any{&ref.Group, &ref.Version, &ref.Kind.Kind, &ref.Namespace, &ref.Name, &ref.UID},
		func() error { known[n] = ref; return nil },
	)
	if _, there := known[n]; err == nil && !there {
		err = errWrong
	}
	return err
}

// readMaker reads one encoded maker of a trace.
func readMaker(ctx context.Context, from database.Querier, num, n int64, known map[int64][]byte) error {
	if _, there := known[n]; there {
		return nil
	}
	var data []byte
	err := database.Scan(ctx, from, "SELECT data FROM origins WHERE trace = ? AND num = ?", []any{num, n}, []any{&data},
		func() error { known[n] = data; return nil })
	if _, there := known[n]; err == nil && !there {
		err = errWrong
	}
	return err
}

// correct reports whether a span has the content of its hash.
func (r *row) correct() bool { return r.digest == digestOf(r.Span, r.place, r.by, r.data, r.facts) }

// batches are batches by revision and time.
type batches map[[2]int64]*store.Batch

func (b batches) of(revision, asOf int64) *store.Batch {
	key := [2]int64{revision, asOf}
	if b[key] == nil {
		b[key] = &store.Batch{Revision: revision, AsOf: moment(asOf)}
	}
	return b[key]
}

// divide adds the spans of a trace to batches like those that contained them.
func (b batches) divide(h salvagedHead, rows []row) {
	for at := 0; at < len(rows); {
		first := rows[at]
		t := &span.Trace{ID: h.id, Outcome: h.outcome, Reason: h.reason}
		for ; at < len(rows) && rows[at].amends == first.amends && rows[at].revision == first.revision; at++ {
			t.Spans = append(t.Spans, rows[at].Span)
		}
		to := b.of(cmp.Or(first.revision, h.revision), h.asOf)
		if first.amends {
			to.Amendments = append(to.Amendments, t)
		} else {
			to.Finished = append(to.Finished, t)
		}
	}
}
