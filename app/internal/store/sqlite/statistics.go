// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// once ends a subquery so that SQLite computes its columns once a row. Without a LIMIT, SQLite copies the
// expression to each use.
const once = " LIMIT -1"

// Group implements store.Finder. All lifecycles of an archive are finished.
func (s *Store) Group(ctx context.Context, q store.GroupQuery) (*store.GroupPage, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	page := &store.GroupPage{Since: q.Earliest()}
	err := s.ask(ctx, func(ctx context.Context, from database.Querier) error {
		return groups(ctx, from, &q, page)
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

func groups(ctx context.Context, from database.Querier, q *store.GroupQuery, page *store.GroupPage) error {
	of, err := measured(ctx, from, q)
	if err != nil {
		return err
	}
	// The numbers of the condition's parameters follow those before it.
	f := &filter{args: of.args}
	addLifecycles(f, &q.FindQuery)
	if len(q.States) > 0 {
		ended := &filter{}
		inStates(ended, "outcome", q.States)
		f.add("l.trace IN (SELECT num FROM traces"+ended.String()+")", ended.args...)
	}
	values := make([]sql.NullString, len(of.keys))
	var group store.Group
	var groups int
	var quantiles sql.NullString
	var to []any
	for i := range values {
		to = append(to, &values[i])
	}
	to = append(to, &group.Count, &group.With, &quantiles, &groups)
	columns := strings.Join(of.columns, ", ")
	err = database.Scan(ctx, from,
		"SELECT *, count(*) OVER () FROM (SELECT "+columns+" FROM "+of.before+questions.From(columns, of.before, f.String())+
			of.joins+f.String()+of.end+" GROUP BY "+strings.Join(of.keys, ", ")+") ORDER BY "+orderOf(q, of.keys)+" LIMIT ?",
		slices.Concat(f.args, of.last, []any{store.MaxGroups}), to, func() error {
			one := group
			for i, by := range q.By {
				one.Values = append(one.Values, valueOf(by, values[i].String))
			}
			if quantiles.Valid {
				if err := json.Unmarshal([]byte(quantiles.String), &one.Quantiles); err != nil {
					return err
				}
			}
			page.Groups = append(page.Groups, one)
			return nil
		})
	page.More = max(0, groups-len(page.Groups))
	return err
}

// orderOf returns store.GroupQuery.CompareGroups in SQL.
func orderOf(q *store.GroupQuery, keys []string) string {
	var order, last []string
	if n, is := q.Order.Quantile(); is {
		order = append(order, fmt.Sprintf("q ->> %d DESC NULLS LAST", n))
	}
	for i, by := range q.By {
		switch {
		case by.Period == "":
			last = append(last, keys[i])
		case q.Order == store.OrderUsual:
			order = append(order, keys[i]+" DESC")
		default:
			last = append(last, keys[i]+" DESC")
		}
	}
	return strings.Join(slices.Concat(order, []string{"n DESC"}, last), ", ")
}

// statistic is the SQL of groups: the names of their keys, their columns, the text before and after the lifecycles, and
// the joins for the keys. The parameters before the condition of the lifecycles, args, and those after it, last, are in
// the order of the text.
type statistic struct {
	keys, columns      []string
	before, joins, end string
	args, last         []any
}

// measured returns the statistic of q.Of by the groups of q.By.
func measured(ctx context.Context, from database.Querier, q *store.GroupQuery) (*statistic, error) {
	var fractions []any
	if q.Of != nil && len(q.Quantiles) > 0 {
		list, err := json.Marshal(q.Quantiles)
		if err != nil {
			return nil, err
		}
		fractions = []any{string(list)}
	}
	before := 0 // the parameters before those of the groups
	computed := q.Of != nil && !q.Of.IsField() || len(q.Also) > 0
	if computed {
		before = len(fractions)
	}
	by, err := groupedBy(ctx, from, q, before)
	if err != nil {
		return nil, err
	}
	out := &statistic{keys: by.names, joins: by.joins, args: by.args}
	number, value := "count(*) AS n", "NULL"
	if q.Changes {
		number = "count(DISTINCT l.trace) AS n"
	}
	var values []any
	if q.Of != nil {
		var of question.Operand
		of, values = q.Of.Operand(questions.Dialect{}, q.Now, before+len(by.args)+1)
		value = of.SQL
	}
	if computed {
		out.columns = slices.Clone(by.names)
		out.before, out.end = "(SELECT "+strings.Join(by.columns, ", ")+", "+value+" AS x FROM ", once+")"
		out.args, value = slices.Concat(fractions, by.args, values), "x"
	} else { // without parameters
		out.columns, out.args = slices.Clone(by.columns), slices.Concat(by.args, fractions)
	}
	if len(q.Also) > 0 {
		rows, err := rowsOfLifecycles(q)
		if err != nil {
			return nil, err
		}
		members := make([]string, len(by.names)+1)
		for i := range members {
			members[i] = fmt.Sprintf("value ->> %d", i)
		}
		out.before = "(SELECT * FROM " + out.before
		out.end += " UNION ALL SELECT " + strings.Join(members, ", ") + " FROM json_each(?))"
		out.last = []any{rows}
	}
	with, quantiles := "0 AS w", "NULL AS q"
	if q.Of != nil {
		with = "count(" + value + ") AS w"
	}
	if fractions != nil {
		quantiles = questions.Dialect{}.Quantiles(value, "?") + " AS q"
	}
	out.columns = append(out.columns, number, with, quantiles)
	return out, nil
}

// rowsOfLifecycles returns the values of By and of Of for the lifecycles of q.Also, as JSON: one row a group.
func rowsOfLifecycles(q *store.GroupQuery) (string, error) {
	var rows [][]any
	for i := range q.Also {
		l := &q.Also[i]
		var length any
		if q.Of != nil {
			if d, is := q.Of.Of(&l.Lifecycle, q.Now); is {
				length = int64(d)
			}
		}
		for _, values := range q.Keys(l, "") {
			row := make([]any, 0, len(values)+2)
			for k, by := range q.By {
				if by.Period != "" {
					row = append(row, periodNumber(by.Period, l.Start.In(cmp.Or(q.Zone, time.UTC))))
				} else {
					row = append(row, values[k])
				}
			}
			if len(q.By) == 0 {
				row = append(row, "")
			}
			rows = append(rows, append(row, length))
		}
	}
	list, err := json.Marshal(rows)
	return string(list), err
}

// keys is the SQL of the keys of groups: their names, their columns, the joins that they need, and the values of the
// parameters in the columns.
type keys struct {
	names, columns []string
	joins          string
	args           []any
}

// groupedBy returns the SQL of the keys of groups, after a number of other parameters. Without a key there is one with
// an empty text.
func groupedBy(ctx context.Context, from database.Querier, q *store.GroupQuery, before int) (*keys, error) {
	out := &keys{}
	add := func(column string, args ...any) {
		name := fmt.Sprintf("k%d", len(out.names))
		out.names, out.columns = append(out.names, name), append(out.columns, column+" AS "+name)
		out.args = append(out.args, args...)
	}
	for _, by := range q.By {
		switch {
		case by.Period != "":
			column, args, err := periods(ctx, from, q, by.Period)
			if err != nil {
				return nil, err
			}
			add(column, args...)
		case by.State:
			add("(SELECT t.outcome FROM traces AS t WHERE t.num = l.trace)")
		case by.Elements != nil:
			f := by.Elements.Field()
			join, element := questions.Elements(&f, fmt.Sprintf("e%d", len(out.names)))
			out.joins += join
			add(element)
		case by.Text != nil:
			of, args := by.Text.Operand(questions.Dialect{}, q.Now, before+len(out.args)+1)
			if of.Nullable {
				of.SQL = "ifnull(" + of.SQL + ", '')"
			}
			add(of.SQL, args...)
		default:
			add("''")
		}
	}
	if len(q.By) == 0 {
		add("''")
	}
	return out, nil
}

// valueOf returns the value of a key from its column.
func valueOf(by store.By, column string) string {
	if by.Period != "" {
		return periodName(by.Period, column)
	}
	return column
}
