// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql"
	"math"
	"time"
)

var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

// nanos returns t for a column; a time out of range becomes the nearest one inside.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func moment(ns int64) time.Time { return time.Unix(0, ns).UTC() }

func optionalMoment(ns sql.NullInt64) time.Time {
	if !ns.Valid {
		return time.Time{}
	}
	return moment(ns.Int64)
}
