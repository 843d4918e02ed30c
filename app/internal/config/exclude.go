// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// resourceName is how the API names resources: plural, in small letters.
var resourceName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Events are in two groups, under either of which the API offers the same
// objects. Watchers read the newer; users know the older.
var (
	coreEvents = schema.GroupResource{Resource: "events"}
	events     = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
)

// Excluded are the resources that a server does not watch, beside those that no
// watcher does (package watch's DefaultExclude): what Exclude says, and Secrets,
// so that no server needs or asks for the right to read them. An empty Resource
// stands for the whole group. The configuration must be valid.
func (w WatchConfiguration) Excluded() []schema.GroupResource {
	out := []schema.GroupResource{{Resource: "secrets"}}
	for _, text := range w.Exclude {
		gr, ok := ParseExclude(text)
		if !ok {
			continue
		}
		out = append(out, gr)
		if gr == coreEvents {
			out = append(out, events)
		}
	}
	return out
}

// ParseExclude reads `resource`, `resource.group` or `*.group`; not ok is none of these.
// An empty Resource stands for the whole group.
func ParseExclude(text string) (schema.GroupResource, bool) {
	name, group, dotted := strings.Cut(text, ".")
	if dotted && len(validation.IsDNS1123Subdomain(group)) > 0 {
		return schema.GroupResource{}, false
	}
	if name == "*" && dotted {
		return schema.GroupResource{Group: group}, true
	}
	return schema.GroupResource{Group: group, Resource: name}, resourceName.MatchString(name)
}
