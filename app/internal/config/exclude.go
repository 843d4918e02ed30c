// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// resourceName matches the API's resource names: plural, in small letters.
var resourceName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

var secrets = schema.GroupResource{Resource: "secrets"}

// The API offers Events in two groups, with the same objects. Watchers read the newer group; users
// know the older one.
var (
	coreEvents = schema.GroupResource{Resource: "events"}
	events     = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
)

// Excluded returns the resources that a server does not watch, besides package watch's
// DefaultExclude: those of Exclude, and Secrets without SecretMetadata. The server therefore needs no
// right to read Secrets by default. An empty Resource means the whole group. The configuration must
// be valid.
func (w WatchConfiguration) Excluded() []schema.GroupResource {
	var out []schema.GroupResource
	if !w.SecretMetadata {
		out = append(out, secrets)
	}
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

// ParseExclude parses `resource`, `resource.group` or `*.group`. It returns false for any other
// text. An empty Resource means the whole group.
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
