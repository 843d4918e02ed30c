// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// ValuesConfiguration is an element of the list `showValues`.
type ValuesConfiguration struct {
	// The API group, such as `example.com`; empty for the core group.
	Group string `json:"group"`

	// The kind, such as `Widget`. It cannot be Event, nor ConfigMap or Secret, whose content is never
	// read.
	Kind string `json:"kind"`

	// The fields, from 1 to 64, by path without the keys of list items, such as `spec.size` or
	// `spec.containers.image`. A path stands for all fields below it, too. Fields in the status have no
	// effect: it is not part of a change. Name no field with confidential values: the log warns of
	// environments, arguments and annotations.
	Fields []string `json:"fields"`
}

// Bounds of showValues.
const (
	maxValues      = 64
	maxValueFields = 64
)

// Shown returns the fields of showValues by kind.
func (c *ServerConfiguration) Shown() map[schema.GroupKind][]string {
	out := map[schema.GroupKind][]string{}
	for _, v := range c.ShowValues {
		of := schema.GroupKind{Group: v.Group, Kind: v.Kind}
		out[of] = append(out[of], v.Fields...)
	}
	return out
}

// confidential matches the paths of fields that often hold confidential values, and those above
// them.
var confidential = regexp.MustCompile(`(^|\.)((env|args|command|annotations)(\.|$)|` +
	`(spec|metadata|template|jobTemplate|[a-z]*[cC]ontainers)$)`)

// Confidential returns the fields of showValues that may hold confidential values, with their kind.
func (c *ServerConfiguration) Confidential() []string {
	var out []string
	for _, v := range c.ShowValues {
		for _, f := range v.Fields {
			if confidential.MatchString(f) {
				out = append(out, v.Kind+" "+f)
			}
		}
	}
	return out
}

// shownPath matches the paths of fields in showValues.
var shownPath = regexp.MustCompile(`^[A-Za-z0-9_$/-]+(\.[A-Za-z0-9_$/-]+)*$`)

func (v *validator) values(path *field.Path, all []ValuesConfiguration) {
	if len(all) > maxValues {
		v.wrong = append(v.wrong, field.TooMany(path, len(all), maxValues))
		return
	}
	for i, c := range all {
		at := path.Index(i)
		if kind.Of(c.Group, c.Kind).MetadataOnly {
			v.invalid(at.Child("kind"), c.Kind, "must not be ConfigMap or Secret, whose content is never read")
		} else {
			v.objectKind(at, ObjectKindConfiguration{Group: c.Group, Kind: c.Kind})
		}
		if len(c.Fields) == 0 {
			v.wrong = append(v.wrong, field.Required(at.Child("fields"), "must name a field, such as spec.size"))
		}
		if len(c.Fields) > maxValueFields {
			v.wrong = append(v.wrong, field.TooMany(at.Child("fields"), len(c.Fields), maxValueFields))
			continue
		}
		v.each(at.Child("fields"), c.Fields, func(p *field.Path, value string) {
			if !shownPath.MatchString(value) || len(value) > 512 {
				v.invalid(p, value, "must be a path such as spec.size, without brackets or keys of list items")
			}
		})
	}
}
