// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"time"

	"cel.dev/cel-go/cel"
)

// Matches reports whether the lifecycle matches at the time now. It does not if a needed value is
// missing. It is safe for concurrent use.
func (q *Question) Matches(l *Lifecycle, now time.Time) bool {
	ok, err := q.Eval(l, now)
	return ok && err == nil
}

// Eval is Matches, with CEL's error if a needed value is missing or a sum does not fit.
func (q *Question) Eval(l *Lifecycle, now time.Time) (bool, error) {
	v, _, err := q.program.Eval(activation{l, within(now)})
	if err != nil {
		return false, err
	}
	b, ok := v.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the result is a %s", v.Type().TypeName())
	}
	return b, nil
}

// activation has the values of one lifecycle for CEL.
type activation struct {
	lifecycle *Lifecycle
	now       time.Time
}

// ResolveName implements cel.Activation. A missing value is an error of the evaluation.
func (a activation) ResolveName(name string) (any, bool) {
	switch name {
	case now:
		return a.now, true
	case phase:
		return a.lifecycle, true
	}
	f, ok := byName[name]
	if !ok {
		return nil, false
	}
	v := f.value(a.lifecycle)
	return v, v != nil
}

// Parent implements cel.Activation.
func (activation) Parent() cel.Activation { return nil }
