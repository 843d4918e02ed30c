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

// maxValues bounds the values of one quantile: 64 MiB.
const maxValues = 8 << 20

// quantiles is the aggregate quantile(value, fraction): the exact quantile of whole numbers, by the
// nearest rank. It is NULL without values.
type quantiles struct {
	values   []int64
	fraction float64
}

// Step implements sqlite.AggregateFunction.
func (q *quantiles) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if len(args) != 2 || args[0] == nil {
		return nil
	}
	value, ok := args[0].(int64)
	if !ok {
		return fmt.Errorf("a quantile needs whole numbers, not %T", args[0])
	}
	if q.fraction, ok = args[1].(float64); !ok || !(q.fraction >= 0 && q.fraction <= 1) {
		return errors.New("a quantile needs a fraction from 0 to 1")
	}
	if len(q.values) == maxValues {
		return errors.New("too many values for a quantile")
	}
	q.values = append(q.values, value)
	return nil
}

// WindowInverse implements sqlite.AggregateFunction.
func (*quantiles) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return errors.New("a quantile is no window function")
}

// WindowValue implements sqlite.AggregateFunction.
func (q *quantiles) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if len(q.values) == 0 {
		return nil, nil
	}
	slices.Sort(q.values)
	rank := int(math.Ceil(q.fraction * float64(len(q.values)))) // from 1
	return q.values[max(rank, 1)-1], nil
}

// Final implements sqlite.AggregateFunction.
func (q *quantiles) Final(*sqlite.FunctionContext) { q.values = nil }
