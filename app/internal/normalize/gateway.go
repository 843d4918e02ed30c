// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// conditionsOf returns the conditions in a status. An object of the Gateway API may have parents or ancestors with
// separate conditions. Then the condition furthest from True counts for each type, and of these the newest.
func conditionsOf(status fields) []any {
	if list := items(status, "conditions"); len(list) > 0 {
		return list
	}
	byType := map[string]fields{}
	for _, path := range []string{"parents[].conditions[]", "ancestors[].conditions[]"} {
		walkPath(status, path, func(v any) {
			c, _ := v.(fields)
			typ := raw(c, "type")
			if old := byType[typ]; old == nil || worse(c, old) {
				byType[typ] = c
			}
		})
	}
	types := make([]string, 0, len(byType))
	for typ := range byType {
		types = append(types, typ)
	}
	slices.Sort(types)
	out := make([]any, 0, len(types))
	for _, typ := range types {
		out = append(out, byType[typ])
	}
	return out
}

// worse reports whether the condition a decides, and not b. An older generation decides first.
func worse(a, b fields) bool {
	return cmp.Or(
		cmp.Compare(numberOr(b, "observedGeneration", 0), numberOr(a, "observedGeneration", 0)),
		cmp.Compare(distance(a), distance(b)),
		moment(a, "lastTransitionTime").Compare(moment(b, "lastTransitionTime")),
	) > 0
}

// distance orders the values of a condition.
func distance(c fields) int {
	return slices.Index([]string{"True", "Unknown", "False"}, raw(c, "status"))
}

// goals returns the verdict on an object that has to reach the conditions of its kind, and to be known
// to each of its parents. A route without parents waits for nothing.
func goals(k *kind.Kind, obj fields, s *observation.State) (observation.Progress, string) {
	if kind.IsRoute(k) && len(items(sub(obj, "spec"), "parentRefs")) == 0 {
		return observation.ProgressCurrent, ""
	}
	if name := unanswered(obj, &s.Ref); name != "" {
		return observation.ProgressInProgress, "waiting for " + name
	}
	for _, typ := range k.Goals {
		switch c := s.Condition(typ); {
		case c == nil:
			return observation.ProgressInProgress, ""
		case c.Status != "True":
			return observation.ProgressInProgress, fmt.Sprintf("not %s: %s", typ, explain(c))
		}
	}
	for _, typ := range k.Ongoing {
		if c := s.Condition(typ); c != nil && c.Status == "True" {
			return observation.ProgressInProgress, typ + ": " + explain(c)
		}
	}
	return observation.ProgressCurrent, ""
}

// unanswered returns the first parent of a route without a status, or "".
func unanswered(obj fields, ref *object.Ref) string {
	known := map[routeParent]bool{}
	walkPath(obj, "status.parents[].parentRef", func(v any) {
		if p, ok := parentOf(v, ref); ok {
			known[p] = true
		}
	})
	missing := ""
	walkPath(obj, "spec.parentRefs[]", func(v any) {
		if p, ok := parentOf(v, ref); ok && missing == "" && !known[p] {
			missing = p.Kind + " " + p.Name.Name
		}
	})
	return missing
}

// routeParent is a parent of a route: a Gateway, or a part of one.
type routeParent struct {
	object.Name
	section, port string
}

func parentOf(v any, of *object.Ref) (routeParent, bool) {
	m, _ := v.(fields)
	n, ok := name(v, &kind.Gateway, of)
	return routeParent{n, word(m, "sectionName"), scalar(m["port"])}, ok
}
