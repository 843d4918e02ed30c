// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

const (
	// FightGap is the maximum time between two writes of one fight.
	FightGap = time.Hour
	// maxContests is the maximum number of remembered fields of one object.
	maxContests = 16
	// maxClaims is the maximum number of remembered authors of one field.
	maxClaims = 4
)

// Claim is the last write of one author to a field, at the time At. Value is the digest of the field
// after it, and 0 if the field was removed. The IDs are those of its reconciliation, zero without one.
type Claim struct {
	Author  Author
	Value   uint64
	At      time.Time
	TraceID trace.TraceID
	SpanID  trace.SpanID
}

// Contest holds the recent writes of one field.
type Contest struct {
	Path string
	// Claims has one entry per known author, in the order of their last writes.
	Claims []Claim
	// Unknown means that the author of the newest write is unknown.
	Unknown bool
	// Count is the number of writes so far that overwrote an opponent's value; 0 without a fight.
	// Since is the time of the value that the first of them brought back.
	Count int64
	Since time.Time
	// Last is the time of the newest write.
	Last time.Time
}

// Contests holds the recently written fields of one object, in the order of their last writes.
type Contests struct{ Fields []Contest }

// Fight is the part of one write in a fight over fields of its object.
type Fight struct {
	// Paths are the fields, in order.
	Paths []string
	// Against are the overwritten claims, each once, without their values.
	Against []Claim
	// Count is the number of this write among those that overwrote an opponent's value, from 1. Since
	// is the time of the first value that was brought back. Of several fields, Count is the highest
	// and Since the earliest.
	Count int64
	Since time.Time
}

// Field is a changed field: its path, and the digest of its new value, 0 for a removed field.
type Field struct {
	Path  string
	Value uint64
}

// Updates reports whether w is an update with known changed fields.
func (w *Write) Updates() bool {
	return w.Verb == history.Updated && w.Changed.Known && len(w.Changed.Paths) > 0
}

// Fields returns the changed fields of w, which must be an update.
func (w *Write) Fields() []Field {
	out := make([]Field, 0, len(w.Changed.Paths))
	for _, path := range w.Changed.Paths {
		switch before, after := w.Previous.Field(path), w.Version.Field(path); {
		case after != nil:
			out = append(out, Field{path, after.Value})
		case before != nil:
			out = append(out, Field{path, 0})
		}
	}
	return out
}

// Write adds a write of the fields by the author of the claim c. It returns the part of this write in
// a fight, or nil. Writes come in the order of their resourceVersions. The Value of c is ignored.
func (a *Contests) Write(c Claim, fields []Field) *Fight {
	var out *Fight
	for _, f := range fields[:min(len(fields), maxContests)] {
		c.Value = f.Value
		if o := a.of(f.Path).write(c); o != nil {
			if out == nil {
				out = &Fight{Since: o.Since}
			}
			out.add(o)
		}
	}
	return out
}

// of returns the contest of the field at path, as the newest one. It forgets the oldest of too many.
func (a *Contests) of(path string) *Contest {
	one := Contest{Path: path}
	if i := slices.IndexFunc(a.Fields, func(c Contest) bool { return c.Path == path }); i >= 0 {
		one = a.Fields[i]
		a.Fields = slices.Delete(a.Fields, i, i+1)
	} else if len(a.Fields) == maxContests {
		a.Fields = slices.Delete(a.Fields, 0, 1)
	}
	a.Fields = append(a.Fields, one)
	return &a.Fields[len(a.Fields)-1]
}

// write adds the write n, and returns its part in the fight over this field, or nil. A fight begins
// with a write that brings back the value of its author after another author's write. From then on,
// each write over another author's value belongs to the fight, if its author wrote the field before.
func (c *Contest) write(n Claim) *Fight {
	if n.At.Sub(c.Last) > FightGap {
		*c = Contest{Path: c.Path}
	}
	c.Last = history.Later(c.Last, n.At)
	before, unknown := c.newest(), c.Unknown
	if c.Unknown = !n.Author.Known(); c.Unknown {
		return nil
	}
	own := c.take(n.Author)
	if own != nil && n.Author.User == "" {
		n.Author = own.Author
	}
	c.Claims = append(c.Claims, n)
	if own == nil || before == nil || unknown || before.Author.Is(n.Author) || c.Count == 0 && own.Value != n.Value {
		return nil
	}
	if c.Count++; c.Count == 1 {
		c.Since = own.At
	}
	before.Value = 0 // a claim on several fields is listed once
	return &Fight{Paths: []string{c.Path}, Against: []Claim{*before}, Count: c.Count, Since: c.Since}
}

// newest returns a copy of the newest claim, or nil.
func (c *Contest) newest() *Claim {
	if len(c.Claims) == 0 {
		return nil
	}
	n := c.Claims[len(c.Claims)-1]
	return &n
}

// take removes and returns the newest claim of the author, or nil. It leaves room for another one.
func (c *Contest) take(a Author) *Claim {
	for i, own := range slices.Backward(c.Claims) {
		if own.Author.Is(a) {
			c.Claims = slices.Delete(c.Claims, i, i+1)
			return &own
		}
	}
	if len(c.Claims) == maxClaims {
		c.Claims = slices.Delete(c.Claims, 0, 1)
	}
	return nil
}

// Drop forgets the claims on the fields.
func (a *Contests) Drop(fields []Field) {
	a.Fields = slices.DeleteFunc(a.Fields, func(c Contest) bool {
		return slices.ContainsFunc(fields, func(f Field) bool { return f.Path == c.Path })
	})
}

// Against returns the present fight of the component over the fields with these paths, or nil.
func (a *Contests) Against(component string, paths []string) *Fight {
	if a == nil {
		return nil
	}
	var out *Fight
	for i := range a.Fields {
		c := &a.Fields[i]
		if c.Count == 0 || !slices.Contains(paths, c.Path) {
			continue
		}
		one := &Fight{Paths: []string{c.Path}, Count: c.Count, Since: c.Since}
		for _, claim := range c.Claims {
			if claim.Value = 0; claim.Author.Component != component {
				one.Against = append(one.Against, claim)
			}
		}
		if len(one.Against) > 0 {
			out = out.Join(one)
		}
	}
	return out
}

// Last returns the time of the newest write.
func (a *Contests) Last() time.Time {
	var at time.Time
	for i := range a.Fields {
		at = history.Later(at, a.Fields[i].Last)
	}
	return at
}

// Clone returns a copy of a, which may be nil.
func (a *Contests) Clone() *Contests {
	out := &Contests{}
	if a != nil {
		out.Fields = slices.Clone(a.Fields)
		for i := range out.Fields {
			out.Fields[i].Claims = slices.Clone(out.Fields[i].Claims)
		}
	}
	return out
}

// Join adds the fight o to f. Both may be nil.
func (f *Fight) Join(o *Fight) *Fight {
	switch {
	case f == nil:
		return o
	case o != nil:
		f.add(o)
	}
	return f
}

func (f *Fight) add(o *Fight) {
	for _, path := range o.Paths {
		if i, found := slices.BinarySearch(f.Paths, path); !found {
			f.Paths = slices.Insert(f.Paths, i, path)
		}
	}
	for _, c := range o.Against {
		if !slices.Contains(f.Against, c) {
			f.Against = append(f.Against, c)
		}
	}
	f.Count = max(f.Count, o.Count)
	if o.Since.Before(f.Since) {
		f.Since = o.Since
	}
}

// Opponents returns the names of the authors of the overwritten values, in order, each once.
func (f *Fight) Opponents() []string {
	var out []string
	for _, c := range f.Against {
		out = append(out, c.Author.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
