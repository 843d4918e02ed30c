// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Shared implements store.Stored.
func (s *Store) Shared(ctx context.Context, q store.SharedQuery) ([]store.Shared, error) {
	if q.Scope.All() || q.Scope.Clusters != nil || q.Scope.Namespaces != nil && len(q.Scope.Namespaces) == 0 {
		return nil, nil // it permits everything or nothing
	}
	query, args := selectShared(&q)
	var rows [][4]string
	err := s.db.Read(ctx, func(from database.Querier) error {
		var found []byte // as in lifecycleRows, the costly part gives one row
		if err := database.Scan(
			ctx, from, query, args, []any{&found}, nothing,
		); err != nil {
			return err
		}
		return json.Unmarshal(found, &rows)
	})
	out := make([]store.Shared, 0, len(rows))
	for _, r := range rows {
		var one store.Shared
		if one, err = sharedOf(r); err != nil {
			break
		}
		out = append(out, one)
	}
	if err != nil {
		return nil, s.db.Failed(ctx, "find shared traces of", err)
	}
	return out, nil
}

// selectShared returns the query for shared traces, and its parameters. JSON has no exact numbers of 64 bits, so they
// are texts.
func selectShared(q *store.SharedQuery) (query string, args []any) {
	f := &filter{}
	f.add("phase > 0")
	f.shared(q.Scope, "traces")
	from := "traces"
	switch {
	case len(q.IDs) > 0:
		f.among("id", q.IDs)
	case particular(q.Object):
		of := matching(object.Ref{Name: q.Object.Name, UID: q.Object.UID})
		f.add("num IN (SELECT o.trace FROM objects o"+of.String()+")", of.args...)
	case q.Scope.Usual():
		from += " INDEXED BY traces_several" // it has their order
	}
	if !q.Since.IsZero() {
		f.add("as_of >= ?", nanos(q.Since))
	}
	if !q.Until.IsZero() {
		f.add("start < ?", nanos(q.Until))
	}
	return "SELECT json_group_array(json_array(i, a, r, n)) FROM (SELECT hex(id) AS i, CAST(as_of AS TEXT) AS a, " +
		"CAST(revision AS TEXT) AS r, CAST(spans AS TEXT) AS n FROM " + from + f.String() +
		" ORDER BY as_of DESC, id DESC LIMIT ?)", append(f.args, q.Limit)
}

func sharedOf(row [4]string) (out store.Shared, err error) {
	var asOf int64
	for i, to := range []*int64{&asOf, &out.Revision, &out.Spans} {
		if *to, err = strconv.ParseInt(row[1+i], 10, 64); err != nil {
			return out, err
		}
	}
	out.AsOf = moment(asOf)
	out.ID, err = trace.TraceIDFromHex(strings.ToLower(row[0]))
	return out, err
}

// maxNamespaces bounds the namespaces of an answer.
const maxNamespaces = 10_000

// Namespaces implements store.Stored. Each step searches the next namespace in an index.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	var out []string
	var name string
	err := s.db.Read(ctx, func(from database.Querier) error {
		return database.Scan(ctx, from, "WITH RECURSIVE n(x) AS (SELECT min(namespace) FROM lifecycles UNION ALL "+
			"SELECT (SELECT min(namespace) FROM lifecycles WHERE namespace > x) FROM n WHERE x IS NOT NULL) "+
			"SELECT x FROM n WHERE x IS NOT NULL LIMIT ?", []any{maxNamespaces}, []any{&name},
			func() error { out = append(out, name); return nil })
	})
	if err != nil {
		return nil, s.db.Failed(ctx, "list namespaces of", err)
	}
	return out, nil
}
