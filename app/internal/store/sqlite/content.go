// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// content is all stored data of one trace, during the merge of a batch.
type content struct {
	*deriver
	rows rowsOfTrace
	id   trace.TraceID
	// known marks a trace with spans from earlier batches.
	known bool
	parts []*part
	// of is the part of each span.
	of map[trace.SpanID]*part
	// changed are the parts to write, and added the new spans.
	changed map[*part]bool
	added   []*span.Span
	// moved means that a span was replaced: the rows of the trace are written again.
	moved bool
}

func (m *merge) content(ctx context.Context, h *head, id trace.TraceID) (*content, error) {
	c := &content{
		deriver: m.deriver, rows: newRows(m.deriver, h.num), id: id, known: h.known,
		of: map[trace.SpanID]*part{}, changed: map[*part]bool{},
	}
	if !h.known {
		return c, nil
	}
	parts, err := readParts(ctx, m, h.num, id)
	for i := range parts {
		p := &parts[i]
		c.parts = append(c.parts, p)
		for _, s := range p.spans {
			c.of[s.ID] = p
		}
	}
	return c, err
}

// part returns the part at a place, a new one if necessary.
func (c *content) part(at place) *part {
	for _, p := range c.parts {
		if p.place == at {
			return p
		}
	}
	p := &part{place: at, num: firstPart(c.rows.num)}
	for _, other := range c.parts {
		p.num = max(p.num, other.num+1)
	}
	c.parts = append(c.parts, p)
	slices.SortFunc(c.parts, func(a, b *part) int { return a.compare(b.place) })
	return p
}

// yield prepares for a version with priority: the part of the trace's own revision gets that revision
// as its own.
func (c *content) yield(revision int64) {
	for _, p := range c.parts {
		if !p.amends && p.revision == 0 {
			p.revision = revision
			c.changed[p] = true
		}
	}
}

// put adds a span to a part, in place of one with the same ID.
func (c *content) put(s *span.Span, to *part) {
	if from := c.of[s.ID]; from != nil {
		from.spans = slices.DeleteFunc(from.spans, func(one *span.Span) bool { return one.ID == s.ID })
		c.changed[from], c.moved = true, true
	}
	to.spans = append(to.spans, s)
	c.of[s.ID], c.changed[to] = to, true
	c.added = append(c.added, s)
}

// flush writes the changes: the parts, the writes and the links.
func (c *content) flush(ctx context.Context) error {
	for _, p := range c.parts {
		if !c.changed[p] {
			continue
		}
		if p.num >= firstPart(c.rows.num+1) {
			return fmt.Errorf("trace %s has too many amendments", c.id)
		}
		if err := p.write(ctx, c.Tx, c.id); err != nil {
			return err
		}
	}
	switch {
	case c.moved:
		if err := c.rows.clear(ctx); err != nil {
			return err
		}
		return c.rows.addSpans(ctx, c.all(true))
	case c.known:
		if err := c.rows.load(ctx); err != nil {
			return err
		}
	}
	return c.rows.addSpans(ctx, c.added)
}

// all returns the spans of the trace in their order, with or without its amendments.
func (c *content) all(amending bool) []*span.Span {
	var out []*span.Span
	for _, p := range c.parts {
		if amending || !p.amends {
			out = append(out, p.spans...)
		}
	}
	return out
}

// claims returns the amendments with new claims about the outcome, or an aftermath.
func (c *content) claims() []*span.Span {
	return slices.DeleteFunc(c.all(true), func(s *span.Span) bool { return !s.Revises() || !c.of[s.ID].amends })
}

// derive writes the derived tables of a finished trace after its spans. all is its content without
// amendments.
func (c *content) derive(ctx context.Context, all *span.Trace, rows []store.Lifecycle) error {
	if !c.known {
		if err := c.index(ctx, c.rows.num, all.Spans, false); err != nil {
			return err
		}
		return c.rows.lifecycles(ctx, rows)
	}
	return c.rows.replace(ctx, c.all(true), rows)
}

var (
	insertWrites = insertInto("writes", "", "trace", "num", "span", "number", "object", "kind", "rv", "back",
		"generation", "audit_id", "start", "until", "changes", "more_changes")
	insertObjects = insertInto("objects", "", "trace", "num", "api_group", "api_version", "kind", "namespace", "name",
		"uid")
)

// rowsOfTrace writes the rows of one trace for queries: its objects, writes and links.
type rowsOfTrace struct {
	*deriver
	// num is the number of the trace.
	num int64
	// objects are the numbers of the objects, and unversioned those by references without a version.
	objects, unversioned map[object.Ref]int64
	// nextObject and nextWrite are the next free numbers.
	nextObject, nextWrite int64
	newObjects, newWrites rowsOf
}

func newRows(d *deriver, num int64) rowsOfTrace {
	return rowsOfTrace{
		deriver: d, num: num, objects: map[object.Ref]int64{}, unversioned: map[object.Ref]int64{},
		newObjects: rowsOf{insertion: insertObjects}, newWrites: rowsOf{insertion: insertWrites},
	}
}

// load reads the numbers that the trace has already.
func (r *rowsOfTrace) load(ctx context.Context) error {
	refs, err := objects(ctx, r, r.num)
	for num, ref := range refs {
		r.remember(ref, num)
		r.nextObject = max(r.nextObject, num+1)
	}
	if err != nil {
		return err
	}
	return database.Scan(
		ctx, r, "SELECT coalesce(max(num), -1) + 1 FROM writes WHERE trace = ?", []any{r.num},
		[]any{&r.nextWrite}, nothing,
	)
}

// remember notes the number of an object.
func (r *rowsOfTrace) remember(ref object.Ref, num int64) {
	r.objects[ref] = num
	ref.Version = ""
	r.unversioned[ref] = num
}

// clear removes all rows of the trace.
func (r *rowsOfTrace) clear(ctx context.Context) error {
	for _, table := range []string{"objects", "writes", "links"} {
		if err := r.Exec(ctx, "DELETE FROM "+table+" WHERE trace = ?", r.num); err != nil {
			return err
		}
	}
	return nil
}

// addSpans adds the rows of spans.
func (r *rowsOfTrace) addSpans(ctx context.Context, spans []*span.Span) error {
	for _, s := range spans {
		if _, err := r.object(ctx, s.Object); err != nil {
			return err
		}
		for _, w := range store.WritesOf(s) {
			if err := r.write(ctx, &w); err != nil {
				return err
			}
		}
		if err := r.links(ctx, s); err != nil {
			return err
		}
	}
	return flushAll(ctx, r.Tx, &r.newObjects, &r.newWrites)
}

// objects returns the objects of a trace by their numbers.
func objects(ctx context.Context, from database.Querier, num int64) (map[int64]object.Ref, error) {
	out := map[int64]object.Ref{}
	var n int64
	var ref object.Ref
	err := database.Scan(
		ctx,
		from,
		"SELECT num, api_group, api_version, kind, namespace, name, uid FROM objects WHERE trace = ?",
		[]any{num},
		[]any{&n, &ref.Group, &ref.Version, &ref.Kind.Kind, &ref.Namespace, &ref.Name, &ref.UID},
		func() error { out[n] = ref; return nil },
	)
	return out, err
}

// object returns the number of ref; -1 without one.
func (r *rowsOfTrace) object(ctx context.Context, ref object.Ref) (int64, error) {
	if ref == (object.Ref{}) {
		return -1, nil
	}
	return r.number(ctx, ref)
}

// ofLifecycle returns the number of the object of a lifecycle, which has no version.
func (r *rowsOfTrace) ofLifecycle(ctx context.Context, ref object.Ref) (int64, error) {
	if num, known := r.unversioned[ref]; known {
		return num, nil
	}
	return r.number(ctx, ref)
}

// number returns the number of ref, also of an empty one.
func (r *rowsOfTrace) number(ctx context.Context, ref object.Ref) (int64, error) {
	num, known := r.objects[ref]
	if known {
		return num, nil
	}
	num = r.nextObject
	r.nextObject++
	r.remember(ref, num)
	return num, r.newObjects.put(
		ctx, r.Tx, r.num, num, text(ref.Group), text(ref.Version), text(ref.Kind.Kind), text(ref.Namespace),
		text(ref.Name), text(string(ref.UID)),
	)
}

// write adds a write. Most columns have short values: the version before it is a distance, and a start
// that is the end is NULL.
func (r *rowsOfTrace) write(ctx context.Context, w *store.Write) error {
	obj, err := r.object(ctx, w.Object)
	if err != nil {
		return err
	}
	kind, err := r.kind(ctx, w)
	if err != nil {
		return err
	}
	changes, err := encodeChanges(w.Changes)
	if err != nil {
		return err
	}
	var back, audit, start any
	if w.BasedOn != 0 {
		back = w.ResourceVersion - w.BasedOn
	}
	if w.AuditID != "" {
		audit = text(w.AuditID)
	}
	if !w.Start.Equal(w.End) {
		start = nanos(w.Start)
	}
	num := r.nextWrite
	r.nextWrite++
	return r.newWrites.put(
		ctx, r.Tx, r.num, num, w.SpanID[:], w.Number, obj, kind, w.ResourceVersion, back, w.Generation, audit, start,
		nanos(w.End), changes, w.MoreChanges,
	)
}

// links adds the edges of s other than that to its parent.
func (r *rowsOfTrace) links(ctx context.Context, s *span.Span) error {
	for i, edge := range store.CausesOf(s) {
		if edge.Parent {
			continue
		}
		if err := r.Exec(
			ctx,
			"INSERT INTO links (trace, span, num, of_trace, of_span, evidence, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
			r.num, s.ID[:], i, edge.OfTrace[:], edge.OfSpan[:], text(string(edge.Evidence)), text(edge.Reason),
		); err != nil {
			return err
		}
	}
	return nil
}

// nothing is for rows whose columns suffice.
func nothing() error { return nil }
