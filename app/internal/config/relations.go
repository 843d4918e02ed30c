// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-lifeline/lifeline/app/internal/relation"
)

// RelationConfiguration is an element of the list `relations`. A write of `to` by a component
// belongs to the open change of `from`, if the objects match. Otherwise it has a link to the last
// change of `from`.
type RelationConfiguration struct {
	// The name of the relation in errors, metrics and `lifeline doctor`: a DNS label.
	Name string `json:"name"`

	// The kind of the cause. It is watched, unless `watch.exclude` names it. It cannot be Secret or
	// Event.
	From ObjectKindConfiguration `json:"from"`

	// The kind of the effect. It is watched as `from` is.
	To ObjectKindConfiguration `json:"to"`

	// A CEL expression over the objects `from` and `to`, of at most 1024 characters. It consists of
	// equalities of an expression of `from` with one of `to`, joined by `&&`. Conditions on one of the
	// objects are allowed, too. It has at most 16 parts between `&&`. A missing field means no match.
	// Of a ConfigMap only `metadata` is there.
	Match string `json:"match"`
}

// ObjectKindConfiguration is a kind of objects, in all versions of its API.
type ObjectKindConfiguration struct {
	// The API group, such as `apps`; empty for the core group.
	Group string `json:"group"`

	// The kind, such as `Deployment`.
	Kind string `json:"kind"`
}

// GroupKind returns the kind in the API's form.
func (c ObjectKindConfiguration) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: c.Group, Kind: c.Kind}
}

// Declared returns the compiled relations, or nil if there are none. The configuration must be
// valid.
func (c *ServerConfiguration) Declared() *relation.Set {
	var all []relation.Declaration
	for _, r := range c.Relations {
		all = append(all, r.declaration())
	}
	set, err := relation.NewSet(all)
	if err != nil {
		panic("an invalid configuration: " + err.Error())
	}
	return set
}

func (c RelationConfiguration) declaration() relation.Declaration {
	return relation.Declaration{Name: c.Name, From: c.From.GroupKind(), To: c.To.GroupKind(), Match: c.Match}
}

func (v *validator) relations(path *field.Path, all []RelationConfiguration) {
	if len(all) > relation.MaxRelations {
		v.wrong = append(v.wrong, field.TooMany(path, len(all), relation.MaxRelations))
		return
	}
	seen := map[string]bool{}
	for i, r := range all {
		at := path.Index(i)
		v.label(at.Child("name"), r.Name)
		if seen[r.Name] {
			v.wrong = append(v.wrong, field.Duplicate(at.Child("name"), shorten(r.Name)))
		}
		seen[r.Name] = true
		v.objectKind(at.Child("from"), r.From)
		v.objectKind(at.Child("to"), r.To)
		v.match(at.Child("match"), r)
	}
}

// kindName matches the names of kinds.
var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)

func (v *validator) objectKind(path *field.Path, c ObjectKindConfiguration) {
	if c.Group != "" && len(validation.IsDNS1123Subdomain(c.Group)) > 0 {
		v.invalid(path.Child("group"), c.Group, "must be an API group without version, such as apps or example.com")
	}
	switch {
	case !kindName.MatchString(c.Kind):
		v.invalid(path.Child("kind"), c.Kind, "must be a kind, such as Deployment")
	case c.Group == "" && c.Kind == "Secret":
		v.invalid(path.Child("kind"), c.Kind, "must not be Secret, since at most its metadata is watched")
	case c.Kind == "Event" && (c.Group == coreEvents.Group || c.Group == events.Group):
		v.invalid(path.Child("kind"), c.Kind, "must not be Event, since Events are no changes of objects")
	}
}

// match checks an expression. An error has the position in the expression, as path:LINE:COLUMN.
func (v *validator) match(path *field.Path, c RelationConfiguration) {
	var at *relation.Error
	if _, err := relation.Compile(c.declaration()); errors.As(err, &at) {
		v.invalid(path, c.Match, at.Detail)
		last := v.wrong[len(v.wrong)-1]
		last.Field = fmt.Sprintf("%s:%d:%d", path, at.Line, at.Column)
	}
}

// withoutPosition returns the path of a field without a position in its value.
func withoutPosition(path string) string {
	path, _, _ = strings.Cut(path, ":")
	return path
}
