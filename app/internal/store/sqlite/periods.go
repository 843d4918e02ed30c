// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// A period is a number in SQL, which rises with time. A day counts from 1970, and so does a week, from the one of that
// year's first day. An hour is its beginning in seconds since 1970 and the offset of the clock, in the lower bits.

const (
	// secondsADay and secondsAnHour are the lengths of a day and of an hour.
	secondsADay, secondsAnHour = 86_400, 3_600
	// firstMonday is the number of days from the Monday of the first week to 1970.
	firstMonday = 3
	// offsetRange is a power of two that is above twice the largest offset of a clock, in seconds.
	offsetRange = 1 << 18
)

// maxOffsets bounds the changes of a time zone in one question.
const maxOffsets = 1000

// periods returns the SQL of the period of a lifecycle, and its parameters. The offset of the time zone changes some
// times a year, so that it is a CASE over these times.
func periods(
	ctx context.Context, from database.Querier, q *store.GroupQuery, of store.Period,
) (text string, args []any, err error) {
	offset, args, err := offsets(ctx, from, q)
	if err != nil {
		return "", nil, err
	}
	// Division rounds towards zero, so that times before 1970 need a correction.
	floor := func(n string, by int64) string { return fmt.Sprintf("(%s / %d - (%s %% %d < 0))", n, by, n, by) }
	local := "(SELECT l.start + z AS s, z FROM (SELECT " + offset + " AS z))"
	switch of {
	case store.Hour:
		beginning := fmt.Sprintf("%s * %d - z / %d", floor("s", int64(time.Hour)), secondsAnHour, int64(time.Second))
		text = fmt.Sprintf("((%s) * %d + z / %d + %d)", beginning, offsetRange, int64(time.Second), offsetRange/2)
		return "(SELECT " + text + " FROM " + local + ")", args, nil
	case store.Week:
		day := floor("s", secondsADay*int64(time.Second))
		days := fmt.Sprintf("(SELECT %s + %d AS d FROM %s)", day, firstMonday, local)
		return "(SELECT " + floor("d", 7) + " FROM " + days + ")", args, nil
	case store.Day:
	}
	return "(SELECT " + floor("s", secondsADay*int64(time.Second)) + " FROM " + local + ")", args, nil
}

// offsets returns the SQL of the offset of the time zone at the start of a lifecycle, in nanoseconds.
func offsets(ctx context.Context, from database.Querier, q *store.GroupQuery) (string, []any, error) {
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
	args = append(args, int64(offset)*int64(time.Second))
	if cases.Len() == 0 {
		return "?", args, nil
	}
	return "CASE" + cases.String() + " ELSE ? END", args, nil
}

// floorOf divides and rounds down.
func floorOf(n, by int64) int64 {
	out := n / by
	if n%by < 0 {
		out--
	}
	return out
}

// periodNumber returns the number of the period of a local time.
func periodNumber(of store.Period, local time.Time) int64 {
	_, offset := local.Zone()
	seconds := local.Unix() + int64(offset)
	days := floorOf(seconds, secondsADay)
	switch of {
	case store.Hour:
		beginning := floorOf(seconds, secondsAnHour)*secondsAnHour - int64(offset)
		return beginning*offsetRange + int64(offset) + offsetRange/2
	case store.Week:
		return floorOf(days+firstMonday, 7)
	case store.Day:
	}
	return days
}

// periodName returns the name of the period with a number.
func periodName(of store.Period, number string) string {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	switch of {
	case store.Hour:
		beginning := floorOf(n, offsetRange)
		offset := int(n-beginning*offsetRange) - offsetRange/2
		return of.Name(time.Unix(beginning, 0).In(time.FixedZone("", offset)))
	case store.Week:
		n = n*7 - firstMonday
	case store.Day:
	}
	return of.Name(time.Unix(n*secondsADay, 0).UTC())
}
