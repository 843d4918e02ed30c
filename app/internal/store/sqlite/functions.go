// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The names of SQLite's functions over the data of a part.
const (
	// spansFunction returns the spans as a JSON array of arrays: see viewedSpan.
	spansFunction = "lifeline_spans"
	// hasSpan reports whether a span has the properties of a spanMatch in JSON. Its other arguments are
	// the service, the name, the properties, and the possible IDs of the span as a JSON array; a NULL
	// permits any ID.
	hasSpan = "lifeline_has_span"
)

// register adds the functions to the driver, once. Connections that are open already lack them.
var register = sync.OnceValue(func() error {
	return errors.Join(
		questions.Register(),
		registerRollups(),
		registerQuantile(),
		registerCollect(),
		sqlite.RegisterFunction(spansFunction, &sqlite.FunctionImpl{
			NArgs: 1, Deterministic: true, VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
				t, err := spansOf(args)
				if err != nil {
					return nil, err
				}
				out := make([]viewedSpan, len(t.Spans))
				for i, s := range t.Spans {
					out[i] = newViewedSpan(s)
				}
				data, err := json.Marshal(out)
				return string(data), err
			},
		}),
		sqlite.RegisterFunction(hasSpan, &sqlite.FunctionImpl{
			NArgs: 5, Deterministic: true, VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
				t, err := spansOf(args)
				if err != nil {
					return nil, err
				}
				var m spanMatch
				criteria, _ := args[3].(string)
				if err := json.Unmarshal([]byte(criteria), &m); err != nil {
					return nil, err
				}
				service, _ := args[1].(string)
				name, _ := args[2].(string)
				var ids []string
				list, listed := args[4].(string)
				if listed {
					if err := json.Unmarshal([]byte(list), &ids); err != nil {
						return nil, err
					}
				}
				for _, s := range t.Spans {
					if s.Service == service && s.Name == name && m.matches(s) &&
						(!listed || slices.Contains(ids, s.ID.String())) {
						return int64(1), nil
					}
				}
				return int64(0), nil
			},
		}),
	)
})

// spansOf returns the trace in the first argument.
func spansOf(args []driver.Value) (*span.Trace, error) {
	data, is := args[0].([]byte)
	if !is {
		return nil, fmt.Errorf("needs the data of a part, not %T", args[0])
	}
	t, err := unseal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", damagedPart, err)
	}
	return t, nil
}

// damagedPart begins the error of a function over damaged data. SQLite passes on its text only. The functions do not
// check the hash of a part: a reader of the whole trace does.
const damagedPart = "a part of a trace is damaged"

// asDamage adds store.ErrDamaged to an error of such a function.
func asDamage(err error) error {
	if err != nil && strings.Contains(err.Error(), damagedPart) {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}

// spanMatch are properties of a span. A zero field permits any value.
type spanMatch struct {
	// Attributes are those of store.SpanQuery, without the actor.
	Attributes map[string]string
	// Since and Until bound the start; Until is not included. Both are nanoseconds.
	Since, Until *int64
	// Longer and Shorter bound the duration of an ended span, in nanoseconds.
	Longer, Shorter int64
}

// searched has the attributes of a span that Search supports.
var searched = map[string]func(*span.Span) string{
	store.AttributeNamespace:       func(s *span.Span) string { return s.Object.Namespace },
	store.AttributeObjectNamespace: func(s *span.Span) string { return s.Object.Namespace },
	store.AttributeObjectName:      func(s *span.Span) string { return s.Object.Name },
	store.AttributeObjectKind:      func(s *span.Span) string { return s.Object.Kind.Kind },
	store.AttributeObjectUID:       func(s *span.Span) string { return string(s.Object.UID) },
	store.AttributeOutcome:         func(s *span.Span) string { return string(s.Outcome) },
}

func (m *spanMatch) matches(s *span.Span) bool {
	for key, value := range m.Attributes {
		without := s.Object == (object.Ref{}) && key != store.AttributeOutcome
		if without || searched[key](s) != value {
			return false
		}
	}
	start := nanos(s.Start.Time)
	if m.Since != nil && start < *m.Since || m.Until != nil && start >= *m.Until {
		return false
	}
	if m.Longer == 0 && m.Shorter == 0 {
		return true
	}
	length := nanos(s.End.Time) - start
	return !s.Open() && (m.Longer == 0 || length >= m.Longer) && (m.Shorter == 0 || length <= m.Shorter)
}

// viewedSpan has the columns of the view of spans.
type viewedSpan [14]any

// newViewedSpan returns the columns of a span.
func newViewedSpan(s *span.Span) viewedSpan {
	parent, start, until := "", any(nil), any(nil)
	group, kind, namespace, name := any(nil), any(nil), any(nil), any(nil) // NULL without an object
	if s.Object != (object.Ref{}) {
		group, kind, namespace, name = s.Object.Group, s.Object.Kind.Kind, s.Object.Namespace, s.Object.Name
	}
	if s.Parent.IsValid() {
		parent = s.Parent.String()
	}
	if !s.Start.IsZero() {
		start = nanos(s.Start.Time)
	}
	if !s.Open() {
		until = nanos(s.End.Time)
	}
	return viewedSpan{
		s.ID.String(), parent, s.Name, s.Service, group, kind, namespace, name,
		start, until, string(s.Outcome), string(s.Evidence), int(s.Status), s.Message,
	}
}

// column returns the SQL of a column of a viewedSpan j.
func column(n int) string { return fmt.Sprintf("j.value ->> %d", n) }
