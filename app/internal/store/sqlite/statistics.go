// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
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

// nanosADay is the length of a day.
const nanosADay = int64(24 * time.Hour)

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
	var value sql.NullString
	var group store.Group
	var groups int
	var quantiles sql.NullString
	to := []any{&value, &group.Count, &group.With, &quantiles, &groups}
	order, columns := "n DESC, v", strings.Join(of.columns, ", ")
	if q.By.Day {
		order = "v DESC"
	}
	err = database.Scan(ctx, from,
		"SELECT *, count(*) OVER () FROM (SELECT "+columns+" FROM "+of.before+
			questions.From(columns, of.before, f.String())+f.String()+of.end+" GROUP BY v) ORDER BY "+order+" LIMIT ?",
		slices.Concat(f.args, of.last, []any{store.MaxGroups}), to, func() error {
			one := group
			one.Value = value.String
			if q.By.Day {
				one.Value = dayOf(value.String)
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

// statistic is the SQL of groups: their columns, and the text before and after the lifecycles and their condition. The
// parameters before the condition, args, and those after it, last, are in the order of the text.
type statistic struct {
	columns     []string
	before, end string
	args, last  []any
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
	by, args, err := groupedBy(ctx, from, q, before+1)
	if err != nil {
		return nil, err
	}
	out := &statistic{columns: []string{by + " AS v", "count(*) AS n", "0 AS w", "NULL AS q"}, args: args}
	if q.Changes {
		out.columns[1] = "count(DISTINCT l.trace) AS n"
	}
	of, values := question.Operand{SQL: "NULL"}, []any(nil)
	if q.Of != nil {
		of, values = q.Of.Operand(questions.Dialect{}, q.Now, len(fractions)+len(args)+1)
	} else if !computed {
		return out, nil
	}
	value := of.SQL
	if computed {
		out.columns[0], value = "v", "x"
		out.before, out.end = "(SELECT "+by+" AS v, "+of.SQL+" AS x FROM ", once+")"
		out.args = slices.Concat(fractions, args, values)
	} else { // without parameters
		out.args = slices.Concat(args, fractions)
	}
	if len(q.Also) > 0 {
		rows, err := rowsOfLifecycles(q)
		if err != nil {
			return nil, err
		}
		out.before = "(SELECT * FROM " + out.before
		out.end += " UNION ALL SELECT value ->> 0, value ->> 1 FROM json_each(?))"
		out.last = []any{rows}
	}
	out.columns[2] = "count(" + value + ") AS w"
	if fractions != nil {
		out.columns[3] = questions.Dialect{}.Quantiles(value, "?") + " AS q"
	}
	return out, nil
}

// rowsOfLifecycles returns the value of By and of Of for the lifecycles of q.Also, as JSON. A day is a number.
func rowsOfLifecycles(q *store.GroupQuery) (string, error) {
	g, err := store.NewGrouping(q)
	if err != nil {
		return "", err
	}
	rows := make([][2]any, len(q.Also))
	for i := range q.Also {
		l := &q.Also[i]
		rows[i][0] = g.Value(l)
		if q.By.Day {
			day, err := time.Parse(time.DateOnly, g.Value(l))
			if err != nil {
				return "", err
			}
			rows[i][0] = day.Unix() / (nanosADay / int64(time.Second))
		}
		if q.Of == nil {
			continue
		}
		if d, is := q.Of.Of(&l.Lifecycle, q.Now); is {
			rows[i][1] = int64(d)
		}
	}
	list, err := json.Marshal(rows)
	return string(list), err
}

// groupedBy returns the SQL of the value of groups, with the values of its parameters. The number of the first one is
// given.
func groupedBy(ctx context.Context, from database.Querier, q *store.GroupQuery, first int) (string, []any, error) {
	switch {
	case q.By.Day:
		return days(ctx, from, q)
	case q.By.State:
		return "(SELECT t.outcome FROM traces AS t WHERE t.num = l.trace)", nil, nil
	case q.By.Text == nil:
		return "''", nil, nil
	}
	of, args := q.By.Text.Operand(questions.Dialect{}, q.Now, first)
	if of.Nullable {
		of.SQL = "ifnull(" + of.SQL + ", '')"
	}
	return of.SQL, args, nil
}

// maxOffsets bounds the changes of a time zone in one question.
const maxOffsets = 1000

// days returns the SQL of the day of a lifecycle, in days since 1970. The offset of the time zone
// changes some times a year, so that it is a CASE over these times.
func days(ctx context.Context, from database.Querier, q *store.GroupQuery) (string, []any, error) {
	zone := q.Zone
	if zone == nil {
		zone = time.UTC
	}
	var first, last sql.NullInt64
	if err := database.Scan(
		ctx, from, "SELECT (SELECT min(start) FROM lifecycles), (SELECT max(start) FROM lifecycles)", nil,
		[]any{&first, &last}, nothing,
	); err != nil {
		return "", nil, err
	}
	since, until := moment(first.Int64), moment(last.Int64)
	if bound := q.Earliest(); bound.After(since) {
		since = bound
	}
	if !q.Until.IsZero() && q.Until.Before(until) {
		until = q.Until
	}
	var cases strings.Builder
	var args []any
	at := since.In(zone)
	for range maxOffsets {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.After(until) {
			break
		}
		_, offset := at.Zone()
		cases.WriteString(" WHEN l.start < ? THEN ?")
		args = append(args, nanos(end), int64(offset)*int64(time.Second))
		at = end
	}
	_, offset := at.Zone()
	sum := "(l.start + ?)"
	if cases.Len() > 0 {
		sum = "(l.start + CASE" + cases.String() + " ELSE ? END)"
	}
	args = append(args, int64(offset)*int64(time.Second))
	// Division rounds towards zero, so that times before 1970 need a correction.
	return fmt.Sprintf("(SELECT s / %d - (s %% %d < 0) FROM (SELECT %s AS s))", nanosADay, nanosADay, sum), args, nil
}

// dayOf returns the date of a number of days since 1970.
func dayOf(days string) string {
	var n int64
	if _, err := fmt.Sscan(days, &n); err != nil {
		return days
	}
	return time.Unix(n*86_400, 0).UTC().Format(time.DateOnly)
}
