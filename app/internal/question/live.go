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
	return eval[bool](q.program, l, now)
}

// Of returns the length for a lifecycle at the time now, and false if a needed value is missing or a sum
// does not fit. It is safe for concurrent use.
func (l *Length) Of(lifecycle *Lifecycle, now time.Time) (time.Duration, bool) {
	d, err := eval[time.Duration](l.program, lifecycle, now)
	return d, err == nil
}

// Of returns the text for a lifecycle at the time now, and "" if a needed value is missing. It is safe for
// concurrent use.
func (t *Text) Of(lifecycle *Lifecycle, now time.Time) string {
	text, err := eval[string](t.program, lifecycle, now)
	if err != nil {
		return ""
	}
	return text
}

// Of returns the number for a lifecycle at the time now, a duration in nanoseconds, and false if a needed value is
// missing or a sum does not fit. It is safe for concurrent use.
func (n *Number) Of(lifecycle *Lifecycle, now time.Time) (int64, bool) {
	if n.Type() == Duration {
		d, err := eval[time.Duration](n.program, lifecycle, now)
		return d.Nanoseconds(), err == nil
	}
	number, err := eval[int64](n.program, lifecycle, now)
	return number, err == nil
}

// eval evaluates a program with the result T.
func eval[T any](program cel.Program, l *Lifecycle, now time.Time) (out T, err error) {
	v, _, err := program.Eval(activation{l, within(now)})
	if err != nil {
		return out, err
	}
	out, ok := v.Value().(T)
	if !ok {
		return out, fmt.Errorf("the result is a %s", v.Type().TypeName())
	}
	return out, nil
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
	case phase, began, ended:
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
