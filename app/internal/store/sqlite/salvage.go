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
// A trace is read as a whole or not at all. Each row has a hash of its content. The readable rollups follow, in parts
// without traces.
func Salvage(ctx context.Context, path string, from int64, into func(context.Context, *Part) error) (Salvaged, error) {
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
	return out, s.rollups(ctx, from-s.last, into)
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
		fmt.Sprintf("SELECT max(num) >> %d FROM parts", partBits),
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
			parts, err := s.parts(ctx, h)
			if ctx.Err() != nil {
				return nil, err
			}
			if err != nil {
				p.Lost++
				continue
			}
			p.Traces++
			p.Spans += h.spans
			if h.pinned {
				p.Pinned = append(p.Pinned, h.id)
			}
			batches.divide(h, parts)
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
		"SELECT num, id, phase, revision, as_of, "+firstOutcome+", reason, spans, pinned, digest FROM traces WHERE "+
			which+" ORDER BY num",
		[]any{lo, hi},
		[]any{&h.num, &id, &h.phase, &h.revision, &h.asOf, &h.outcome, &h.reason, &h.spans, &h.pinned, &h.stamp},
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
		ctx, fmt.Sprintf("SELECT count(DISTINCT num >> %d) FROM parts WHERE num >= ? AND num < ?", partBits),
		[]any{firstPart(lo), firstPart(hi + 1)}, []any{&out}, nothing,
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

// errEnough ends a reading before the neighbours of a trace.
var errEnough = errors.New("all spans are read")

// parts reads the parts of a trace. It reads exactly their rows, since their neighbours may be damaged.
// If those at one end are damaged, it reads from the other end.
func (s *salvage) parts(ctx context.Context, h salvagedHead) ([]part, error) {
	known := map[int64]bool{}
	var out []part
	var spans int64
	var errs []error
	err := s.db.Read(ctx, func(q database.Querier) error {
		for _, order := range []string{"num", "num DESC"} {
			err := eachPart(
				ctx, q, h.id, "WHERE num >= ? AND num < ? ORDER BY "+order,
				[]any{firstPart(h.num), firstPart(h.num + 1)},
				func(p part) error {
					if !known[p.num] {
						known[p.num] = true
						out = append(out, p)
						spans += int64(len(p.spans))
					}
					if spans >= h.spans {
						return errEnough
					}
					return nil
				},
			)
			if errors.Is(err, errEnough) {
				return nil
			}
			if errs = append(errs, err); ctx.Err() != nil {
				break
			}
		}
		return errors.Join(errs...)
	})
	if err == nil && spans != h.spans {
		err = errWrong
	}
	slices.SortFunc(out, func(a, b part) int { return a.compare(b.place) })
	return out, err
}

// batches are batches by revision and time.
type batches map[[2]int64]*store.Batch

func (b batches) of(revision, asOf int64) *store.Batch {
	key := [2]int64{revision, asOf}
	if b[key] == nil {
		b[key] = &store.Batch{Revision: revision, AsOf: moment(asOf)}
	}
	return b[key]
}

// divide adds the parts of a trace to batches like those that contained them.
func (b batches) divide(h salvagedHead, parts []part) {
	for _, p := range parts {
		batch := b.of(cmp.Or(p.revision, h.revision), h.asOf)
		p.addTo(batch, &span.Trace{ID: h.id, Outcome: h.outcome, Reason: h.reason})
	}
}
