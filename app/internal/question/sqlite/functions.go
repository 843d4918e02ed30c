// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/recent"
)

// The names of the registered functions.
const (
	endsWith = "lifeline_ends_with"
	matches  = "lifeline_matches"
	plus     = "lifeline_plus"
	minus    = "lifeline_minus"
	quantile = "lifeline_quantiles"
	// stepBegan and stepEnded return the start and the end of a phase; NULL without one, or for an end
	// that is open.
	stepBegan = "lifeline_step_began"
	stepEnded = "lifeline_step_ended"
)

// Register adds the functions of the dialect to the driver "sqlite", once. Connections that are open
// already lack them.
var Register = sync.OnceValue(func() error {
	var errs []error
	for name, f := range map[string]func(a, b driver.Value) (driver.Value, error){
		endsWith:  onTexts(func(text, suffix string) (bool, error) { return strings.HasSuffix(text, suffix), nil }),
		matches:   onTexts(match),
		plus:      onNanos(question.Plus),
		minus:     onNanos(question.Minus),
		stepBegan: ofStep(func(i interval) driver.Value { return i.began }),
		stepEnded: ofStep(func(i interval) driver.Value {
			if i.open {
				return nil
			}
			return i.ended
		}),
	} {
		errs = append(errs, sqlite.RegisterFunction(name, &sqlite.FunctionImpl{
			NArgs: 2, Deterministic: true,
			// The texts are SQLite's memory, valid during the call. A copy would end at the first NUL.
			VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
				if len(args) != 2 || args[0] == nil || args[1] == nil {
					return nil, nil
				}
				return f(args[0], args[1])
			},
		}))
	}
	errs = append(errs, sqlite.RegisterFunction(quantile, &sqlite.FunctionImpl{
		NArgs: 2, Deterministic: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return &quantiles{}, nil },
	}))
	return errors.Join(errs...)
})

// onTexts makes a function of two texts.
func onTexts(f func(a, b string) (bool, error)) func(a, b driver.Value) (driver.Value, error) {
	return func(a, b driver.Value) (driver.Value, error) {
		x, isX := a.(string)
		y, isY := b.(string)
		if !isX || !isY {
			return nil, fmt.Errorf("needs texts, not %T and %T", a, b)
		}
		is, err := f(x, y)
		if is {
			return int64(1), err
		}
		return int64(0), err
	}
}

// onNanos makes a function of two numbers. It returns NULL if the result does not fit.
func onNanos(f func(a, b int64) (int64, bool)) func(a, b driver.Value) (driver.Value, error) {
	return func(a, b driver.Value) (driver.Value, error) {
		x, isX := a.(int64)
		y, isY := b.(int64)
		if !isX || !isY {
			return nil, fmt.Errorf("needs whole numbers, not %T and %T", a, b)
		}
		if n, fits := f(x, y); fits {
			return n, nil
		}
		return nil, nil
	}
}

// patterns has the regular expressions of the recent statements.
var patterns = recent.Cache[string, *regexp.Regexp]{Size: 128}

// match reports whether the text has a match of the pattern.
func match(text, pattern string) (bool, error) {
	pattern = strings.Clone(pattern) // outlives the call
	re, ok := patterns.Get(pattern)
	if !ok {
		var err error
		if re, err = regexp.Compile(pattern); err != nil {
			return false, err
		}
		patterns.Put(pattern, re)
	}
	return re.MatchString(text), nil
}
