// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// HealthConfiguration is an element of the list `health`. Its expressions are evaluated in the order
// `inProgress`, `failed`, `current`. If none is true, the object is in progress.
type HealthConfiguration struct {
	// The API group, such as `example.com`. A group of Kubernetes itself, such as `apps`, is refused: its
	// kinds have built-in rules.
	Group string `json:"group"`

	// The kind, such as `Widget`. There is at most one rule for each kind.
	Kind string `json:"kind"`

	// A CEL expression over `metadata`, `spec` and `status`, of at most 1024 characters. Required. True
	// means that the object has its desired state.
	Current string `json:"current"`

	// Likewise: true means that the object is on its way. Empty means never.
	InProgress string `json:"inProgress"`

	// Likewise: true means that the object has failed. Empty means never.
	Failed string `json:"failed"`
}

// maxHealth bounds the list `health`.
const maxHealth = 128

// HealthRules returns the compiled rules of the list `health`, or nil if there are none. The
// configuration must be valid.
func (c *ServerConfiguration) HealthRules() *health.Rules {
	var all []health.Rule
	for _, h := range c.Health {
		all = append(all, health.Rule{
			Kind:    schema.GroupKind{Group: h.Group, Kind: h.Kind},
			Current: h.Current, InProgress: h.InProgress, Failed: h.Failed,
		})
	}
	rules, err := health.NewRules(all)
	if err != nil {
		panic("an invalid configuration: " + err.Error())
	}
	return rules
}

func (v *validator) health(path *field.Path, all []HealthConfiguration) {
	if len(all) > maxHealth {
		v.wrong = append(v.wrong, field.TooMany(path, len(all), maxHealth))
		return
	}
	seen := map[schema.GroupKind]bool{}
	for i, h := range all {
		at, of := path.Index(i), schema.GroupKind{Group: h.Group, Kind: h.Kind}
		v.objectKind(at, ObjectKindConfiguration{Group: h.Group, Kind: h.Kind})
		switch {
		case kind.BuiltIn(h.Group):
			v.invalid(at.Child("group"), h.Group, "must not be a group of Kubernetes, whose kinds have built-in rules")
		case seen[of]:
			v.wrong = append(v.wrong, field.Duplicate(at.Child("kind"), shorten(h.Kind)))
		}
		seen[of] = true
		v.expression(at.Child("current"), h.Current)
		for _, optional := range []struct{ name, text string }{{"inProgress", h.InProgress}, {"failed", h.Failed}} {
			if optional.text != "" {
				v.expression(at.Child(optional.name), optional.text)
			}
		}
	}
}

// expression checks an expression. An error has the position in the expression, as path:LINE:COLUMN.
func (v *validator) expression(path *field.Path, text string) {
	var at *health.ExpressionError
	if _, err := health.Compile(text); errors.As(err, &at) {
		v.invalid(path, text, at.Detail)
		v.wrong[len(v.wrong)-1].Field = fmt.Sprintf("%s:%d:%d", path, at.Line, at.Column)
	}
}
