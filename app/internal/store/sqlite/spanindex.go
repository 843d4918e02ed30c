// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Services implements store.Spanner.
func (s *Store) Services(ctx context.Context, scope store.Scope) ([]string, error) {
	return s.names(ctx, "o.service", &filter{}, &scope)
}

// Operations implements store.Spanner.
func (s *Store) Operations(ctx context.Context, scope store.Scope, service string) ([]string, error) {
	f := &filter{}
	if service != "" {
		f.add("o.service = ?", service)
	}
	return s.names(ctx, "o.name", f, &scope)
}

// names returns the distinct values of a column of operations with spans in the scope.
func (s *Store) names(ctx context.Context, column string, f *filter, scope *store.Scope) ([]string, error) {
	entries := &filter{}
	entries.add("i.operation = o.num")
	restrictEntries(entries, &store.SpanQuery{Scope: *scope})
	f.add("EXISTS (SELECT 1 FROM span_index AS i CROSS JOIN traces AS t ON t.num = i.trace"+entries.String()+")",
		entries.args...)
	out := []string{}
	var name string
	err := s.ask(ctx, func(ctx context.Context, from database.Querier) error {
		return database.Scan(
			ctx, from, "SELECT DISTINCT "+column+" FROM operations AS o"+f.String()+" ORDER BY 1", f.args,
			[]any{&name}, func() error { out = append(out, name); return nil },
		)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// restrictEntries adds the conditions of q on i, an entry of the index, and t, its trace. Where the entry
// cannot answer, the spans are read.
func restrictEntries(f *filter, q *store.SpanQuery) {
	f.add("t.phase = 2")
	f.visible(q.Scope, "t")
	if !q.Since.IsZero() {
		f.add("i.latest >= ?", nanos(q.Since))
	}
	if !q.Until.IsZero() {
		f.add("i.start < ?", nanos(q.Until))
		f.add("i.trace_start < ?", nanos(q.Until)) // what an index can use
	}
	if q.Longer > 0 {
		f.add("i.longest >= ?", int64(q.Longer))
	}
	m := spanMatch{
		Attributes: maps.Clone(q.Attributes), Since: bound(q.Since), Until: bound(q.Until),
		Longer: max(0, int64(q.Longer)), Shorter: max(0, int64(q.Shorter)),
	}
	actor, ofActor := m.Attributes[store.AttributeActor]
	delete(m.Attributes, store.AttributeActor)
	for key := range m.Attributes {
		if searched[key] == nil {
			f.add("0")
			return
		}
	}
	suffices := &filter{} // the times of the entry suffice
	if len(q.Attributes) == 0 && q.Longer <= 0 && q.Shorter <= 0 {
		suffices.between("i.start", q.Since, time.Time{})
		suffices.between("i.latest", time.Time{}, q.Until)
		if len(suffices.terms) == 0 {
			return
		}
	} else {
		suffices.add("0")
	}
	criteria, _ := json.Marshal(m) // texts and numbers
	addObject(f, m.Attributes)
	ids, args := "NULL", []any{string(criteria)}
	if ofActor { // that of a lifecycle
		f.add("EXISTS (SELECT 1 FROM lifecycles AS c WHERE c.trace = i.trace AND c.actor = ?)", actor)
		ids = "(SELECT json_group_array(lower(hex(c.span))) FROM lifecycles AS c " +
			"WHERE c.trace = i.trace AND c.actor = ?)"
		args = append(args, actor)
	}
	read := fmt.Sprintf( // each part is unpacked once
		"EXISTS (SELECT 1 FROM parts AS p WHERE p.num >= i.trace << %d AND p.num < (i.trace + 1) << %d "+
			"AND %s(p.data, o.service, o.name, ?, %s))", partBits, partBits, hasSpan, ids,
	)
	f.add("("+suffices.all()+" OR "+read+")", slices.Concat(suffices.args, args)...)
}

// addObject adds the condition that the trace has an object with the attributes, so that the spans of
// few traces are read.
func addObject(f *filter, attributes map[string]string) {
	of := &filter{}
	of.add("b.trace = i.trace")
	for key, column := range map[string]string{
		store.AttributeNamespace: "b.namespace", store.AttributeObjectNamespace: "b.namespace",
		store.AttributeObjectName: "b.name", store.AttributeObjectKind: "b.kind", store.AttributeObjectUID: "b.uid",
	} {
		if value, there := attributes[key]; there {
			of.add(column+" = ?", value)
		}
	}
	if len(of.args) > 0 {
		f.add("EXISTS (SELECT 1 FROM objects AS b"+of.String()+")", of.args...)
	}
}

// bound returns a time for a spanMatch.
func bound(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(nanos(t))
}

// match is a trace of a Search.
type match struct {
	id    trace.TraceID
	start int64
}

// Search implements store.Spanner. Each operation has its own query, since an index has the traces
// of one operation in order.
func (s *Store) Search(ctx context.Context, q store.SpanQuery) ([]trace.TraceID, error) {
	limit := store.PageLength(q.Limit)
	var all []match
	err := s.ask(ctx, func(ctx context.Context, from database.Querier) error {
		nums, err := operations(ctx, from, &q)
		if err != nil {
			return err
		}
		for _, num := range nums {
			f := &filter{}
			f.add("i.operation = ?", num)
			restrictEntries(f, &q)
			// The driver ends a query at its time only before the first row: see lifecycleRows.
			var found string
			if err := database.Scan(
				ctx,
				from,
				"SELECT coalesce(group_concat(n), '') FROM (SELECT hex(t.id) || i.trace_start AS n "+
					"FROM span_index AS i "+
					"CROSS JOIN operations AS o ON o.num = i.operation "+
					"CROSS JOIN traces AS t ON t.num = i.trace"+f.String()+
					" ORDER BY i.trace_start DESC, t.id DESC LIMIT ?)",
				append(f.args, limit),
				[]any{&found},
				nothing,
			); err != nil {
				return err
			}
			if all, err = addMatches(all, found); err != nil {
				return err
			}
			if len(all) > 4*limit {
				all = newestMatches(all, limit)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []trace.TraceID
	for _, m := range newestMatches(all, limit) {
		out = append(out, m.id)
	}
	return out, nil
}

// addMatches adds the traces of one query: each is its ID in hexadecimal digits and its start.
func addMatches(to []match, found string) ([]match, error) {
	const digits = 2 * len(trace.TraceID{})
	for text := range strings.SplitSeq(found, ",") {
		if text == "" {
			continue
		}
		var m match
		var err error
		if m.id, err = trace.TraceIDFromHex(strings.ToLower(text[:digits])); err != nil {
			return nil, err
		}
		if m.start, err = strconv.ParseInt(text[digits:], 10, 64); err != nil {
			return nil, err
		}
		to = append(to, m)
	}
	return to, nil
}

// newestMatches returns the newest traces, each once, at most limit.
func newestMatches(all []match, limit int) []match {
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.start, a.start), bytes.Compare(b.id[:], a.id[:]))
	})
	all = slices.Compact(all)
	return all[:min(len(all), limit)]
}

// operations returns the numbers of the operations that q names.
func operations(ctx context.Context, from database.Querier, q *store.SpanQuery) ([]int64, error) {
	f := &filter{}
	if q.Service != "" {
		f.add("service = ?", q.Service)
	}
	if q.Operation != "" {
		f.add("name = ?", q.Operation)
	}
	var out []int64
	var num int64
	err := database.Scan(
		ctx, from, "SELECT num FROM operations"+f.String(), f.args, []any{&num},
		func() error { out = append(out, num); return nil },
	)
	return out, err
}
