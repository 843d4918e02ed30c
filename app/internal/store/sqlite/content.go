// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/trace"

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

// row holds the parts of a stored span that reveal a change.
type row struct {
	place
	digest int64
}

// content is all stored data of one trace.
type content struct {
	*writing
	num     int64
	spans   map[trace.SpanID]row
	objects map[object.Ref]int64
	origins map[string]int64
	// next and nextOrigin are the next free numbers.
	next, nextOrigin int64
	// loose marks objects and origins that may have lost their last span.
	loose bool
}

func (m *merge) content(ctx context.Context, h *head) (*content, error) {
	c := &content{
		writing: m.writing,
		num:     h.num,
		spans:   map[trace.SpanID]row{},
		objects: map[object.Ref]int64{},
		origins: map[string]int64{},
	}
	if !h.known {
		return c, nil
	}
	var id []byte
	var r row
	if err := scan(ctx, m, "SELECT id, amends, revision, seq, digest FROM spans WHERE trace = ?", []any{h.num},
		[]any{&id, &r.amends, &r.revision, &r.seq, &r.digest},
		func() error { c.spans[spanID(id)] = r; return nil }); err != nil {
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
func objects(ctx context.Context, from querier, num int64) (map[int64]object.Ref, error) {
	out := map[int64]object.Ref{}
	var n int64
	var ref object.Ref
	err := scan(
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
	return num, c.exec(
		ctx,
		"INSERT INTO objects (trace, num, api_group, api_version, kind, namespace, name, uid) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
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
	for id, r := range c.spans {
		if !r.amends && r.revision == 0 {
			r.revision = revision
			c.spans[id] = r
		}
	}
	return c.exec(ctx, "UPDATE spans SET revision = ? WHERE trace = ? AND amends = 0 AND revision = 0", revision, c.num)
}

// put stores a span, with its writes and links.
func (c *content) put(ctx context.Context, s *span.Span, at place) error {
	data, err := encode(s)
	if err != nil {
		return err
	}
	obj, err := c.object(ctx, s.Object)
	if err != nil {
		return err
	}
	made, err := c.origin(ctx, s)
	if err != nil {
		return err
	}
	digest := digestOf(s, obj, made, data)
	old, there := c.spans[s.ID]
	switch {
	case there && old.digest == digest && old.place == at:
		return nil
	case there && old.digest == digest:
		return c.exec(
			ctx,
			"UPDATE spans SET amends = ?, revision = ?, seq = ? WHERE trace = ? AND id = ?",
			at.amends,
			at.revision,
			at.seq,
			c.num,
			s.ID[:],
		)
	case there:
		if err := c.remove(ctx, s.ID); err != nil {
			return err
		}
	}
	var parent []byte
	if s.Parent.IsValid() {
		parent = s.Parent[:]
	}
	if err := c.exec(
		ctx,
		`INSERT INTO spans (trace, id, amends, revision, seq, digest, parent, remote, name, service, object,
		start, start_source, until, until_source, outcome, evidence, status, message, data, origin)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
		if err := c.exec(
			ctx,
			`INSERT INTO writes (trace, span, num, object, verb, part, subresource, rv, generation, actor, user,`+
				` start, until, source)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.num,
			s.ID[:],
			i,
			obj,
			text(w.Verb),
			text(w.Part),
			text(w.Subresource),
			w.ResourceVersion,
			w.Generation,
			text(w.Actor),
			text(w.User),
			nanos(w.Start),
			nanos(w.End),
			text(string(w.Source)),
		); err != nil {
			return err
		}
	}
	for i, edge := range store.CausesOf(s) {
		if edge.Parent {
			continue // the span's own columns
		}
		if err := c.exec(
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
	c.loose = true
	for _, query := range []string{
		"DELETE FROM spans WHERE trace = ? AND id = ?",
		"DELETE FROM writes WHERE trace = ? AND span = ?",
		"DELETE FROM links WHERE trace = ? AND span = ?",
	} {
		if err := c.exec(ctx, query, c.num, id[:]); err != nil {
			return err
		}
	}
	return nil
}

// digestOf returns a hash of all parts of a span except its place.
func digestOf(s *span.Span, obj, made int64, data []byte) int64 {
	b := make([]byte, 0, 512)
	b = append(b, s.Parent[:]...)
	for _, n := range []int64{obj, made, nanos(s.Start.Time), nanos(s.End.Time), int64(s.Status)} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // all 64 bits count
	}
	for _, flag := range []bool{s.RemoteParent, s.Start.IsZero(), s.End.IsZero()} {
		if flag {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, field := range []string{
		s.Name,
		s.Service,
		string(s.Start.Source),
		string(s.End.Source),
		string(s.Outcome),
		string(s.Evidence),
		s.Message,
	} {
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	return int64(xxhash.Sum64(append(b, data...))) //nolint:gosec // all 64 bits count
}
