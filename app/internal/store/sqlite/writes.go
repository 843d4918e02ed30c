// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// writeKey is the length of a write's key in a cursor: its trace, its span, and its number there.
const writeKey = len(trace.TraceID{}) + len(trace.SpanID{}) + 4

// selectWrites reads the writes with the keys of findWrites.
const selectWrites = "SELECT t.id, w.span, w.number, k.verb, k.part, k.subresource, w.rv, " + basedOn +
	", w.generation, k.actor, k.user, ifnull(w.audit_id, ''), ifnull(w.start, w.until), w.until, k.source, " +
	"w.changes, w.more_changes, coalesce(b.api_group, ''), coalesce(b.api_version, ''), coalesce(b.kind, ''), " +
	"coalesce(b.namespace, ''), coalesce(b.name, ''), coalesce(b.uid, '') " +
	"FROM json_each(?) j CROSS JOIN writes w ON w.trace = j.value ->> 0 AND w.num = j.value ->> 1 " +
	"CROSS JOIN write_kinds k ON k.num = w.kind CROSS JOIN traces t ON t.num = w.trace " +
	"LEFT JOIN objects b ON b.trace = w.trace AND b.num = w.object" + latestFirst

const (
	latestFirst = " ORDER BY w.until DESC, t.id DESC, w.span DESC, w.number DESC"
	// basedOn is the version before a write w.
	basedOn = "ifnull(w.rv - w.back, 0)"
)

// findWrites returns the keys of the writes that a filter selects. As in lifecycleRows, the costly part gives one row.
func findWrites(f *filter) string {
	return "SELECT json_group_array(json_array(trace, num)) FROM (" +
		"SELECT w.trace AS trace, w.num AS num FROM writes w " +
		"CROSS JOIN traces t ON t.num = w.trace" + f.String() + latestFirst + " LIMIT ?)"
}

// Writes returns API writes that match q, the latest first.
func (s *Store) Writes(ctx context.Context, q store.WriteQuery) (*store.WritePage, error) {
	f, err := writeFilter(q)
	if err != nil {
		return nil, err
	}
	limit := store.PageLength(q.Limit)
	page := &store.WritePage{}
	var ends []int64
	var nums []uint32
	err = s.db.Read(ctx, func(from database.Querier) error {
		var w store.Write
		var id, spanid, changes []byte
		var num uint32
		var start, until int64
		var keys string
		if err := database.Scan(ctx, from, findWrites(f), append(f.args, limit+1), []any{&keys}, nothing); err != nil {
			return err
		}
		return database.Scan(
			ctx,
			from,
			selectWrites,
			[]any{keys},
			[]any{
				&id,
				&spanid,
				&num,
				&w.Verb,
				&w.Part,
				&w.Subresource,
				&w.ResourceVersion,
				&w.BasedOn,
				&w.Generation,
				&w.Actor,
				&w.User,
				&w.AuditID,
				&start,
				&until,
				&w.Source,
				&changes,
				&w.MoreChanges,
				&w.Object.Group,
				&w.Object.Version,
				&w.Object.Kind.Kind,
				&w.Object.Namespace,
				&w.Object.Name,
				&w.Object.UID,
			},
			func() error {
				var err error
				if w.Changes, err = decodeChanges(changes); err != nil {
					return fmt.Errorf("%w: write of span %x: %w", store.ErrDamaged, spanid, err)
				}
				w.TraceID, w.SpanID, w.Number = traceID(id), spanID(spanid), int(num)
				w.Start, w.End = moment(start), moment(until)
				page.Writes, ends, nums = append(page.Writes, w), append(ends, until), append(nums, num)
				return nil
			},
		)
	})
	if err != nil {
		return nil, s.db.Failed(ctx, "list writes of", err)
	}
	if len(page.Writes) > limit {
		page.Writes = page.Writes[:limit]
		last := page.Writes[limit-1]
		key := append(append(make([]byte, 0, writeKey), last.TraceID[:]...), last.SpanID[:]...)
		page.Next = store.NewCursor(ends[limit-1], binary.BigEndian.AppendUint32(key, nums[limit-1]))
	}
	return page, nil
}

// encodeChanges returns the changes as JSON; nil without any.
func encodeChanges(changes []span.FieldChange) (any, error) {
	if len(changes) == 0 {
		return nil, nil //nolint:nilnil // SQL's NULL
	}
	data, err := json.Marshal(changes)
	return string(data), err
}

// decodeChanges is the inverse of encodeChanges.
func decodeChanges(data []byte) (out []span.FieldChange, err error) {
	if len(data) > 0 {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

func writeFilter(q store.WriteQuery) (*filter, error) {
	f := &filter{}
	f.visible(q.Scope, "t")
	f.between("w.until", q.Since, q.Until)
	if q.After != "" {
		at, key, err := q.After.Position(writeKey)
		if err != nil {
			return nil, err
		}
		f.add("w.until <= ?", at) // what an index can use
		f.add("(w.until, t.id, w.span, w.number) < (?, ?, ?, ?)",
			at, key[:16], key[16:24], binary.BigEndian.Uint32(key[24:]))
	}
	if q.TraceID.IsValid() {
		f.add("w.trace = (SELECT num FROM traces WHERE id = ?)", q.TraceID[:])
	}
	if q.Actor != "" {
		f.add("w.kind IN (SELECT num FROM write_kinds WHERE actor = ?)", q.Actor)
	}
	if q.Part != "" {
		f.add("w.kind IN (SELECT num FROM write_kinds WHERE part = ?)", q.Part)
	}
	if of := matching(q.Object); particular(q.Object) {
		f.add("(w.trace, w.object) IN (SELECT o.trace, o.num FROM objects o"+of.String()+")", of.args...)
	} else if len(of.terms) > 0 {
		of.terms = append([]string{"o.trace = w.trace", "o.num = w.object"}, of.terms...)
		f.add("EXISTS (SELECT 1 FROM objects o"+of.String()+")", of.args...)
	}
	return f, nil
}
