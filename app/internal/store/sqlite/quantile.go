// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"

	"modernc.org/sqlite"
)

// quantileFunction is the name of the aggregate for people: quantile(value, fraction).
const quantileFunction = "quantile"

// maxQuantileValues bounds the values of one aggregate: 64 MiB.
const maxQuantileValues = 8 << 20

func registerQuantile() error {
	return sqlite.RegisterFunction(quantileFunction, &sqlite.FunctionImpl{
		NArgs: 2, Deterministic: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) {
			return &quantile{whole: true}, nil
		},
	})
}

// quantile is the exact quantile of numbers by the nearest rank, so that it is one of them. NULL does not count;
// without numbers it is NULL.
type quantile struct {
	values []float64
	// whole: all numbers are integers.
	whole    bool
	fraction float64
}

// Step implements sqlite.AggregateFunction.
func (q *quantile) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	fraction, is := numberOf(args[1])
	if !is || !(fraction >= 0 && fraction <= 1) || len(q.values) > 0 && fraction != q.fraction {
		return errors.New("quantile needs one fraction from 0 to 1, as in quantile(duration, 0.95)")
	}
	if q.fraction = fraction; args[0] == nil {
		return nil
	}
	value, is := numberOf(args[0])
	if !is {
		return fmt.Errorf("quantile needs numbers, not %T", args[0])
	}
	if len(q.values) == maxQuantileValues {
		return errors.New("too many values for quantile: select fewer rows")
	}
	if _, isInt := args[0].(int64); !isInt {
		q.whole = false
	}
	q.values = append(q.values, value)
	return nil
}

func numberOf(v driver.Value) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// WindowInverse implements sqlite.AggregateFunction.
func (*quantile) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return errors.New("quantile is no window function")
}

// WindowValue implements sqlite.AggregateFunction.
func (q *quantile) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if len(q.values) == 0 {
		return nil, nil
	}
	slices.Sort(q.values)
	value := q.values[max(int(math.Ceil(q.fraction*float64(len(q.values)))), 1)-1]
	if q.whole && math.Abs(value) < 1<<53 {
		return int64(value), nil
	}
	return value, nil
}

// Final implements sqlite.AggregateFunction.
func (q *quantile) Final(*sqlite.FunctionContext) { q.values = nil }
