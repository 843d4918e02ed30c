// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Roll returns a Rollup with the Start, Count, Phases, Attributes and Parts of lifecycles; it keeps the other fields
// of `of`. The order of the lifecycles does not matter, and they stay unchanged. Images add their registries.
// Without lifecycles, Count is 0.
func Roll(of Rollup, lifecycles []Lifecycle) Rollup {
	of.Start, of.Count, of.Phases, of.Attributes, of.Parts = time.Time{}, len(lifecycles), nil, nil, nil
	if len(lifecycles) == 0 {
		return of
	}
	of.Start = lifecycles[0].Start
	lengths := make([]Phases, 0, len(lifecycles))
	attributes := make([][]Attribute, 0, len(lifecycles))
	for _, l := range lifecycles {
		if l.Start.Before(of.Start) {
			of.Start = l.Start
		}
		lengths = append(lengths, l.Phases)
		attributes = append(attributes, WithRegistries(l.Attributes))
	}
	of.Phases = Medians(lengths)
	of.Attributes = shared(attributes)
	of.Parts = parts(lengths, attributes, of.Attributes, of.Trace[:])
	return of
}

// Medians returns the median of each phase, over those that have it.
func Medians(all []Phases) Phases {
	if len(all) == 1 {
		return all[0]
	}
	lengths := map[string][]time.Duration{}
	for _, phases := range all {
		for name, d := range phases {
			lengths[name] = append(lengths[name], d)
		}
	}
	out := make(Phases, len(lengths))
	for name, of := range lengths {
		slices.Sort(of)
		out[name] = Median(of)
	}
	return out
}

// Median returns the median of sorted lengths, or 0 without any. Of an even number, it is the middle of the middle
// two.
func Median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	low, high := sorted[(n-1)/2], sorted[n/2]
	return low/2 + high/2 + (low%2+high%2)/2 // the sum may exceed 64 bits
}

// shared returns the attributes that are in all lists.
func shared(all [][]Attribute) []Attribute {
	out := slices.Clone(all[0])
	for _, other := range all[1:] {
		out = slices.DeleteFunc(out, func(a Attribute) bool {
			_, has := slices.BinarySearchFunc(other, a, Attribute.Compare)
			return !has
		})
	}
	return out
}

// parts groups the lifecycles by the attributes that are not shared.
func parts(lengths []Phases, attributes [][]Attribute, shared []Attribute, seed []byte) []Part {
	type part struct {
		key        string
		attributes []Attribute
		lengths    []Phases
		rank       uint64
	}
	var groups []*part
	byKey := map[string]*part{}
	for i, all := range attributes {
		own := slices.DeleteFunc(slices.Clone(all), func(a Attribute) bool {
			_, has := slices.BinarySearchFunc(shared, a, Attribute.Compare)
			return has
		})
		key := keyOf(own)
		p := byKey[key]
		if p == nil {
			p = &part{key: key, attributes: own}
			byKey[key], groups = p, append(groups, p)
		}
		p.lengths = append(p.lengths, lengths[i])
	}
	if len(groups) == 1 {
		return nil
	}
	// Of equal sizes, a hash chooses, and differently for each change. An order by name would never show the last
	// nodes of a large cluster.
	for _, p := range groups {
		h := fnv.New64a()
		_, _ = h.Write(seed)
		_, _ = h.Write([]byte(p.key))
		p.rank = h.Sum64()
	}
	slices.SortFunc(groups, func(a, b *part) int {
		return cmp.Or(
			cmp.Compare(len(b.lengths), len(a.lengths)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key),
		)
	})
	groups = groups[:min(len(groups), MaxParts)]
	slices.SortFunc(groups, func(a, b *part) int { return cmp.Compare(a.key, b.key) })
	out := make([]Part, len(groups))
	for i, p := range groups {
		out[i] = Part{Count: len(p.lengths), Phases: Medians(p.lengths), Attributes: p.attributes}
	}
	return out
}

// keyOf returns a text that differs for different attributes.
func keyOf(attributes []Attribute) string {
	var b strings.Builder
	for _, a := range attributes {
		b.WriteString(a.Name)
		b.WriteByte(0)
		b.WriteString(a.Value)
		b.WriteByte(0)
	}
	return b.String()
}

// Compare orders attributes by name and value.
func (a Attribute) Compare(b Attribute) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}
