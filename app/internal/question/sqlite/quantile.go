// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"modernc.org/sqlite"
)

// maxValues bounds the values of one aggregate: 64 MiB.
const maxValues = 8 << 20

// quantiles is the aggregate quantiles(value, fractions): the exact quantiles of whole numbers, by the
// nearest rank. It sorts the values once for all fractions.
type quantiles struct {
	values    []int64
	fractions string
}

// Step implements sqlite.AggregateFunction.
func (q *quantiles) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if len(args) != 2 || args[0] == nil {
		return nil
	}
	value, ok := args[0].(int64)
	if !ok {
		return fmt.Errorf("quantiles need whole numbers, not %T", args[0])
	}
	if q.fractions, ok = args[1].(string); !ok {
		return errors.New("quantiles need a text with their fractions")
	}
	if len(q.values) == maxValues {
		return errors.New("too many values for quantiles")
	}
	q.values = append(q.values, value)
	return nil
}

// WindowInverse implements sqlite.AggregateFunction.
func (*quantiles) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return errors.New("quantiles are no window function")
}

// WindowValue implements sqlite.AggregateFunction.
func (q *quantiles) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if len(q.values) == 0 {
		return nil, nil
	}
	var fractions []float64
	if err := json.Unmarshal([]byte(q.fractions), &fractions); err != nil {
		return nil, fmt.Errorf("the fractions of quantiles: %w", err)
	}
	slices.Sort(q.values)
	out := make([]int64, len(fractions))
	for i, fraction := range fractions {
		if !(fraction >= 0 && fraction <= 1) {
			return nil, errors.New("quantiles need fractions from 0 to 1")
		}
		rank := int(math.Ceil(fraction * float64(len(q.values)))) // from 1
		out[i] = q.values[max(rank, 1)-1]
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// Final implements sqlite.AggregateFunction.
func (q *quantiles) Final(*sqlite.FunctionContext) { q.values = nil }
