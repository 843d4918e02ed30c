// SPDX-License-Identifier: Apache-2.0

// Package relation compiles the declared relations of the configuration: CEL expressions over two
// objects. The engine never holds two whole objects at once. So an expression is divided into two
// keys, one for each object. Two objects are related if their keys are equal.
package relation

import (
	"fmt"
	"math"

	"cel.dev/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Declaration is a relation as declared: an object of kind From is the cause of objects of kind To.
type Declaration struct {
	Name     string
	From, To schema.GroupKind
	// Match is a CEL expression over the objects `from` and `to` (see Compile).
	Match string
}

// String returns all fields of d. Equal declarations have equal texts.
func (d Declaration) String() string {
	return fmt.Sprintf("%q %s %s %q", d.Name, d.From, d.To, d.Match)
}

// Relation is a compiled Declaration. It is safe for concurrent use.
type Relation struct {
	Declaration
	from, to side
}

// side is the part of an expression about one object.
type side struct {
	// conditions must be true for the object. keys are the compared values.
	conditions, keys []cel.Program
}

// Value is a compared value: a string, bool, int64 or float64.
type Value any

// Causes returns the key of the object as a cause. It returns false if the object has none: the
// object is of another kind, a condition is false, a field is missing, or a value is not a scalar.
func (r *Relation) Causes(of schema.GroupKind, object map[string]any) ([]Value, bool) {
	if of != r.From {
		return nil, false
	}
	return r.from.key(varFrom, object)
}

// Caused is Causes for the object as an effect.
func (r *Relation) Caused(of schema.GroupKind, object map[string]any) ([]Value, bool) {
	if of != r.To {
		return nil, false
	}
	return r.to.key(varTo, object)
}

// key evaluates the expressions of one side. An error of an evaluation means no key.
func (s *side) key(variable string, object map[string]any) ([]Value, bool) {
	vars := map[string]any{variable: object}
	for _, p := range s.conditions {
		if v, _, err := p.Eval(vars); err != nil || v.Value() != true {
			return nil, false
		}
	}
	values := make([]Value, len(s.keys))
	for i, p := range s.keys {
		v, _, err := p.Eval(vars)
		if err != nil {
			return nil, false
		}
		if values[i] = scalar(v.Value()); values[i] == nil {
			return nil, false
		}
	}
	return values, true
}

// maxText bounds a compared text, in bytes. It is the maximum of an object's name and more than
// that of a label.
const maxText = 253

// scalar returns a result as a Value, or nil. In CEL, equal numbers of different types are equal.
func scalar(v any) Value {
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			return nil
		}
		return v
	case bool, int64:
		return v
	case uint64:
		if int64(v) >= 0 { //nolint:gosec // the check of the range
			return int64(v) //nolint:gosec // in range
		}
		return float64(v)
	case float64:
		if math.IsNaN(v) {
			return nil // equals nothing
		}
		if whole := int64(v); float64(whole) == v && whole > -1<<53 && whole < 1<<53 {
			return whole
		}
		return v
	}
	return nil
}
