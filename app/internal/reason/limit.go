// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

var (
	// aboveLimit matches the refusal of Pods whose request exceeds a limit, in the words of API validation.
	aboveLimit = regexp.MustCompile(
		`spec\.[a-zA-Z]*ontainers\[\d+\]\.resources\.requests: Invalid value: "([^" ]+)": ` +
			`must be less than or equal to (\S+) limit of ([^\s,\]]+)`,
	)
	// aPod matches the Pod at the beginning of a refusal.
	aPod = regexp.MustCompile(`^Pod "[^"]*" is invalid: `)
	// below matches the sentence of belowRequest.
	below = regexp.MustCompile(`(\S+) limit (\S+) is below the request`)
)

// belowRequest returns a refusal in which each limit below its request is a sentence, in order of the resource:
// validation has no order.
func belowRequest(text string) string {
	if !aboveLimit.MatchString(text) {
		return text
	}
	text = aPod.ReplaceAllString(text, "")
	var parts []string
	for _, at := range aboveLimit.FindAllStringSubmatch(text, -1) {
		parts = append(parts, at[2]+" limit "+at[3]+" is below the request "+at[1])
	}
	slices.Sort(parts)
	if rest := strings.Trim(aboveLimit.ReplaceAllString(text, ""), ", []"); rest != "" {
		parts = append(parts, rest)
	}
	return strings.Join(slices.Compact(parts), ", ")
}

// ByDefaults returns the reason r of v, an object whose Pods are refused, with the defaults of the LimitRanges of
// its Namespace: a limit that neither v nor its owner sets is such a default. owner may be nil.
func ByDefaults(v, owner *history.Version, ranges []*history.Version, r Reason) Reason {
	found := false
	text := below.ReplaceAllStringFunc(r.Text, func(limit string) string {
		at := below.FindStringSubmatch(limit)
		resource, value := at[1], at[2]
		if setsLimit(v, resource) || setsLimit(owner, resource) {
			return limit
		}
		for _, of := range ranges {
			if hasDefault(of, resource, value) {
				found = true
				return "the default " + resource + " limit " + value + " of LimitRange " + of.Name +
					" is below the request"
			}
		}
		return limit
	})
	if found {
		r.Category, r.Text = LimitRange, text
	}
	return r
}

// setsLimit reports whether a container in the Pod template of v has a limit of the resource.
func setsLimit(v *history.Version, resource string) bool {
	return v != nil && v.Fields != nil && slices.ContainsFunc(v.Fields.Leaves, func(l observation.Leaf) bool {
		return strings.HasPrefix(l.Path, "spec.template.spec.") &&
			strings.HasSuffix(l.Path, ".resources.limits."+resource)
	})
}

// hasDefault reports whether a LimitRange has that default limit of the resource for containers.
func hasDefault(v *history.Version, resource, value string) bool {
	return v.Fields != nil && slices.ContainsFunc(v.Fields.Leaves, func(l observation.Leaf) bool {
		return strings.HasPrefix(l.Path, "spec.limits[") && strings.HasSuffix(l.Path, "].default."+resource) &&
			l.Shown == value
	})
}
