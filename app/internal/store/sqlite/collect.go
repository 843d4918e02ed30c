// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// collect is the name of the aggregate that hands the rows of a statement to a collecting, by its handle. It returns
// their number. database/sql has several times the cost for a row with many columns.
const collect = "lifeline_collect"

// collecting takes lifecycles, or the elements of a list of them.
type collecting struct {
	rows []sampleRow
	// elements are the lifecycles that get an element at the place at; nil for lifecycles.
	elements map[int64]*sampleRow
	at       int
	// texts has a copy of each text: those of SQLite end with the call.
	texts map[string]string
}

// collectings are the running ones by handle.
var collectings handles

type handles struct {
	mu   sync.Mutex
	last int64
	of   map[int64]*collecting
}

// begin returns the handle of c until its end.
func (h *handles) begin(c *collecting) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[int64]*collecting{}
	}
	h.last++
	h.of[h.last] = c
	return h.last
}

func (h *handles) end(handle int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, handle)
}

func (h *handles) get(handle int64) *collecting {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[handle]
}

func registerCollect() error {
	return sqlite.RegisterFunction(collect, &sqlite.FunctionImpl{
		NArgs: -1, VolatileArgs: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return &collector{}, nil },
	})
}

// collector is one call of the aggregate.
type collector struct {
	into *collecting
	n    int64
}

var errCollect = errors.New(collect + " needs a handle of its own, and the columns of a lifecycle or of a list")

// Step implements sqlite.AggregateFunction. A person may call it in a statement: no handle is known then.
func (c *collector) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if c.into == nil {
		if len(args) > 0 {
			handle, _ := args[0].(int64)
			c.into = collectings.get(handle)
		}
		if c.into == nil {
			return errCollect
		}
	}
	c.n++
	if c.into.elements != nil {
		return c.into.element(args[1:])
	}
	return c.into.lifecycle(args[1:])
}

// text returns the copy of a text.
func (c *collecting) text(s string) string {
	if known, is := c.texts[s]; is {
		return known
	}
	s = strings.Clone(s)
	c.texts[s] = s
	return s
}

// lifecycle takes the columns of a lifecycle: its number, start and duration, and the fields of sampleTables.
func (c *collecting) lifecycle(args []driver.Value) error {
	tables := samples()
	if len(args) != 3+len(tables.fields) {
		return errCollect
	}
	var head [3]int64
	for i := range head {
		n, is := args[i].(int64)
		if !is {
			return fmt.Errorf("%w, not %T", errCollect, args[i])
		}
		head[i] = n
	}
	r := sampleRow{
		id: head[0], start: head[1], length: head[2], phases: make(map[string]time.Duration, 8),
		values: make([]any, len(tables.fields)+len(tables.lists)),
	}
	for i, v := range args[3:] {
		switch v := v.(type) {
		case int64:
			if phase := tables.phases[i]; phase != "" {
				r.phases[phase] = time.Duration(v)
			} else {
				r.values[i] = v
			}
		case string:
			if v != "" {
				r.values[i] = c.text(v)
			}
		}
	}
	c.rows = append(c.rows, r)
	return nil
}

// element takes an element of a list: the number of its lifecycle, and the text.
func (c *collecting) element(args []driver.Value) error {
	if len(args) != 2 {
		return errCollect
	}
	id, isID := args[0].(int64)
	text, isText := args[1].(string)
	if !isID || !isText {
		return errCollect
	}
	if r := c.elements[id]; r != nil {
		list, _ := r.values[c.at].([]string)
		r.values[c.at] = append(list, c.text(text))
	}
	return nil
}

// WindowInverse implements sqlite.AggregateFunction.
func (*collector) WindowInverse(*sqlite.FunctionContext, []driver.Value) error { return errCollect }

// WindowValue implements sqlite.AggregateFunction.
func (c *collector) WindowValue(*sqlite.FunctionContext) (driver.Value, error) { return c.n, nil }

// Final implements sqlite.AggregateFunction.
func (*collector) Final(*sqlite.FunctionContext) {}
