// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// place is the position of a stored span in its trace.
type place struct {
	amends bool
	// revision is the revision of the span's batch; 0 for the trace's own.
	revision int64
	seq      int
}

// stored is a stored span, apart from its content.
type stored struct {
	place
	digest int64
}

var (
	insertSpans = insertInto("spans", "", "trace", "id", "amends", "revision", "seq", "digest", "parent", "remote",
		"name", "service", "object", "start", "start_source", "until", "until_source", "outcome", "evidence", "status",
		"message", "data", "origin", "facts")
	insertWrites = insertInto("writes", "", "trace", "span", "num", "object", "verb", "part", "subresource", "rv",
		"based_on", "generation", "actor", "user", "audit_id", "start", "until", "source", "changes", "more_changes")
	insertObjects = insertInto("objects", "", "trace", "num", "api_group", "api_version", "kind", "namespace", "name",
		"uid")
)

// content is all stored data of one trace.
type content struct {
	*deriver
	// newSpans, newWrites and newObjects are not inserted yet.
	newSpans, newWrites, newObjects rowsOf
	num                             int64
	spans                           map[trace.SpanID]stored
	objects                         map[object.Ref]int64
	origins                         map[string]int64
	// next and nextOrigin are the next free numbers.
	next, nextOrigin int64
	// known marks a trace with spans from earlier batches. writes counts the writes of an unknown
	// one.
	known  bool
	writes int64
	// loose marks objects and origins that may have lost their last span.
	loose bool
}

func (m *merge) content(ctx context.Context, h *head) (*content, error) {
	c := &content{
		deriver:    m.deriver,
		newSpans:   rowsOf{insertion: insertSpans},
		newWrites:  rowsOf{insertion: insertWrites},
		newObjects: rowsOf{insertion: insertObjects},
		num:        h.num,
		known:      h.known,
		spans:      map[trace.SpanID]stored{},
		objects:    map[object.Ref]int64{},
		origins:    map[string]int64{},
	}
	if !h.known {
		return c, nil
	}
	var id []byte
	var s stored
	if err := database.Scan(ctx, m, "SELECT id, amends, revision, seq, digest FROM spans WHERE trace = ?", []any{h.num},
		[]any{&id, &s.amends, &s.revision, &s.seq, &s.digest},
		func() error { c.spans[spanID(id)] = s; return nil }); err != nil {
		return nil, err
	}
	refs, err := objects(ctx, m, h.num)
	for num, ref := range refs {
		c.objects[ref] = num
		c.next = max(c.next, num+1)
	}
	if err != nil {
		return nil, err
	}
	made, err := origins(ctx, m, h.num)
	for num, data := range made {
		c.origins[string(data)] = num
		c.nextOrigin = max(c.nextOrigin, num+1)
	}
	return c, err
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
func (c *content) object(ctx context.Context, ref object.Ref) (int64, error) {
	if ref == (object.Ref{}) {
		return -1, nil
	}
	num, known := c.objects[ref]
	if known {
		return num, nil
	}
	num = c.next
	c.next++
	c.objects[ref] = num
	return num, c.newObjects.put(
		ctx,
		c.Tx,
		c.num,
		num,
		text(ref.Group),
		text(ref.Version),
		text(ref.Kind.Kind),
		text(ref.Namespace),
		text(ref.Name),
		text(string(ref.UID)),
	)
}

// yield prepares for a version with priority: spans of the trace's own revision get that revision
// as their own.
func (c *content) yield(ctx context.Context, revision int64) error {
	for id, s := range c.spans {
		if s.amends || s.revision != 0 {
			continue
		}
		s.digest ^= s.place.digest()
		s.revision = revision
		s.digest ^= s.place.digest()
		c.spans[id] = s
		if err := c.Exec(
			ctx,
			"UPDATE spans SET revision = ?, digest = ? WHERE trace = ? AND id = ?",
			s.revision,
			s.digest,
			c.num,
			id[:],
		); err != nil {
			return err
		}
	}
	return nil
}

// flush inserts what put has collected. Only then can a query see it.
func (c *content) flush(ctx context.Context) error {
	return flushAll(ctx, c.Tx, &c.newObjects, &c.newSpans, &c.newWrites)
}

// put stores a span, with its writes and links, in place of one with the same ID. flush has to follow.
func (c *content) put(ctx context.Context, s *span.Span, at place) error {
	data, err := encode(s)
	if err != nil {
		return err
	}
	obj, err := c.object(ctx, s.Object)
	if err != nil {
		return err
	}
	made, by, err := c.origin(ctx, s)
	if err != nil {
		return err
	}
	if _, there := c.spans[s.ID]; there {
		if err := c.remove(ctx, s.ID); err != nil {
			return err
		}
	}
	facts := span.PackFacts(s.Facts, text)
	digest := digestOf(s, at, by, data, facts)
	c.spans[s.ID] = stored{at, digest}
	var parent []byte
	if s.Parent.IsValid() {
		parent = s.Parent[:]
	}
	if err := c.newSpans.put(
		ctx,
		c.Tx,
		c.num,
		s.ID[:],
		at.amends,
		at.revision,
		at.seq,
		digest,
		parent,
		s.RemoteParent,
		text(s.Name),
		text(s.Service),
		obj,
		optional(s.Start.Time),
		text(string(s.Start.Source)),
		optional(s.End.Time),
		text(string(s.End.Source)),
		text(string(s.Outcome)),
		text(string(s.Evidence)),
		int64(s.Status),
		text(s.Message),
		data,
		made,
		facts,
	); err != nil {
		return err
	}
	return c.primitives(ctx, s)
}

// primitives stores the writes of s and its links.
func (c *content) primitives(ctx context.Context, s *span.Span) error {
	for i, w := range store.WritesOf(s) {
		obj, err := c.object(ctx, w.Object)
		if err != nil {
			return err
		}
		changes, err := encodeChanges(w.Changes)
		if err != nil {
			return err
		}
		c.writes++
		if err := c.newWrites.put(
			ctx,
			c.Tx,
			c.num,
			s.ID[:],
			i,
			obj,
			text(w.Verb),
			text(w.Part),
			text(w.Subresource),
			w.ResourceVersion,
			w.BasedOn,
			w.Generation,
			text(w.Actor),
			text(w.User),
			text(w.AuditID),
			nanos(w.Start),
			nanos(w.End),
			text(string(w.Source)),
			changes,
			w.MoreChanges,
		); err != nil {
			return err
		}
	}
	for i, edge := range store.CausesOf(s) {
		if edge.Parent {
			continue // the span's own columns
		}
		if err := c.Exec(
			ctx,
			"INSERT INTO links (trace, span, num, of_trace, of_span, evidence, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
			c.num,
			s.ID[:],
			i,
			edge.OfTrace[:],
			edge.OfSpan[:],
			text(string(edge.Evidence)),
			text(edge.Reason),
		); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a span, its writes and its links.
func (c *content) remove(ctx context.Context, id trace.SpanID) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.loose = true
	delete(c.spans, id)
	for _, query := range []string{
		"DELETE FROM spans WHERE trace = ? AND id = ?",
		"DELETE FROM writes WHERE trace = ? AND span = ?",
		"DELETE FROM links WHERE trace = ? AND span = ?",
	} {
		if err := c.Exec(ctx, query, c.num, id[:]); err != nil {
			return err
		}
	}
	return nil
}

// tidy deletes the objects and origins without spans.
func (c *content) tidy(ctx context.Context) error {
	if !c.loose {
		return nil
	}
	c.loose = false
	if err := c.Exec(ctx, `DELETE FROM objects WHERE trace = ?1 AND num NOT IN
		(SELECT object FROM spans WHERE trace = ?1 UNION SELECT object FROM writes WHERE trace = ?1)`,
		c.num); err != nil {
		return err
	}
	return c.Exec(
		ctx,
		"DELETE FROM origins WHERE trace = ?1 AND num NOT IN (SELECT origin FROM spans WHERE trace = ?1)",
		c.num,
	)
}

// countWrites returns the number of all writes of the trace.
func (c *content) countWrites(ctx context.Context) (int64, error) {
	if !c.known {
		return c.writes, nil
	}
	var n int64
	err := database.Scan(ctx, c, "SELECT count(*) FROM writes WHERE trace = ?", []any{c.num}, []any{&n}, nothing)
	return n, err
}

// nothing is for rows whose columns suffice.
func nothing() error { return nil }
