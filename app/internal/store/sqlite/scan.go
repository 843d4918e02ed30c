// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"time"
)

// number reads a column of integers. Other types are slow for many rows, since database/sql
// converts to them by reflection.
type number int64

// Scan implements sql.Scanner.
func (n *number) Scan(value any) error {
	got, is := value.(int64)
	if !is {
		return fmt.Errorf("there is %T, and not an integer", value)
	}
	*n = number(got)
	return nil
}

// optionalTime is an optional time.
type optionalTime struct{ time.Time }

// Scan implements sql.Scanner.
func (m *optionalTime) Scan(value any) error {
	m.Time = time.Time{}
	if value == nil {
		return nil
	}
	var n number
	err := n.Scan(value)
	if err == nil {
		m.Time = moment(int64(n))
	}
	return err
}
