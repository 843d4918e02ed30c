// SPDX-License-Identifier: Apache-2.0

package relation

import (
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MaxRelations bounds the number of declared relations.
const MaxRelations = 16

// Set holds relations, and counts their keys. It is safe for concurrent use. A nil Set has no
// relations.
type Set struct{ all []*counted }

// counted is a relation with its counts.
type counted struct {
	*Relation
	from, to count
}

// count counts the evaluations for one side.
type count struct{ keyed, keyless atomic.Uint64 }

// NewSet compiles declarations. It returns nil for none.
func NewSet(declarations []Declaration) (*Set, error) {
	if len(declarations) == 0 {
		return nil, nil
	}
	s := &Set{}
	for _, d := range declarations {
		r, err := Compile(d)
		if err != nil {
			return nil, fmt.Errorf("relation %s: %w", d.Name, err)
		}
		s.all = append(s.all, &counted{Relation: r})
	}
	return s, nil
}

// Kinds returns the kinds of all objects in relations, without duplicates.
func (s *Set) Kinds() []schema.GroupKind {
	var out []schema.GroupKind
	if s == nil {
		return nil
	}
	for _, r := range s.all {
		for _, of := range []schema.GroupKind{r.From, r.To} {
			if !slices.Contains(out, of) {
				out = append(out, of)
			}
		}
	}
	return out
}

// Has reports whether objects of the kind are in a relation.
func (s *Set) Has(of schema.GroupKind) bool {
	return s != nil && slices.ContainsFunc(s.all, func(r *counted) bool { return r.From == of || r.To == of })
}

// Key is the key of one object in one relation, as a cause or as an effect.
type Key struct {
	Relation string
	Cause    bool
	Values   []Value
}

// Keys returns all keys of an object, and counts them.
func (s *Set) Keys(of schema.GroupKind, object map[string]any) []Key {
	var out []Key
	if s == nil {
		return nil
	}
	for _, r := range s.all {
		if of == r.From {
			values, ok := r.Causes(of, object)
			if r.from.add(ok) {
				out = append(out, Key{r.Name, true, values})
			}
		}
		if of == r.To {
			values, ok := r.Caused(of, object)
			if r.to.add(ok) {
				out = append(out, Key{r.Name, false, values})
			}
		}
	}
	return out
}

// add counts an evaluation and returns keyed.
func (c *count) add(keyed bool) bool {
	if keyed {
		c.keyed.Add(1)
	} else {
		c.keyless.Add(1)
	}
	return keyed
}

// Stats are the counts of one relation.
type Stats struct {
	Declaration
	// Causes and Effects are the observed versions of objects of the kinds From and To.
	Causes, Effects Counts
}

// Counts are numbers of observed versions: with a key, and without one.
type Counts struct{ Keyed, Keyless uint64 }

// Stats returns the counts of all relations, in the order of their declarations.
func (s *Set) Stats() []Stats {
	var out []Stats
	if s == nil {
		return nil
	}
	for _, r := range s.all {
		out = append(out, Stats{
			Declaration: r.Declaration,
			Causes:      Counts{r.from.keyed.Load(), r.from.keyless.Load()},
			Effects:     Counts{r.to.keyed.Load(), r.to.keyless.Load()},
		})
	}
	return out
}
