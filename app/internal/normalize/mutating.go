// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// ownWebhooks ends the names of Lifeline's webhooks. They change annotations only.
const ownWebhooks = ".webhook.lifeline.dev"

// mutating returns the relations of a policy or a configuration of webhooks that may change new Pods, and that of a
// binding to its policy.
func mutating(obj fields, ref *object.Ref) []object.Relation {
	if ref.Group != kind.Admission {
		return nil
	}
	var out []object.Relation
	changes := func(rule any) {
		if m, _ := rule.(fields); createsPods(m) && len(out) == 0 {
			out = append(out, object.Relation{Type: object.Mutates, To: kind.NewPods})
		}
	}
	spec := sub(obj, "spec")
	switch ref.Kind.Kind {
	case kind.MutatingPolicy:
		walkPath(spec, "matchConstraints.resourceRules[]", changes)
	case kind.MutatingWebhooks:
		for _, item := range items(obj, "webhooks") {
			if webhook, _ := item.(fields); !strings.HasSuffix(raw(webhook, "name"), ownWebhooks) {
				walkPath(webhook, "rules[]", changes)
			}
		}
	case kind.MutatingPolicyBinding:
		if policy := word(spec, "policyName"); policy != "" {
			to := object.Name{Group: kind.Admission, Kind: kind.MutatingPolicy, Name: policy}
			out = append(out, object.Relation{Type: object.Mutates, To: to})
		}
	}
	return out
}

// createsPods reports whether a rule of admission holds for the creation of Pods.
func createsPods(rule fields) bool {
	return names(rule, "apiGroups", "") && names(rule, "resources", "pods", "*/*", "pods/*") &&
		names(rule, "operations", "CREATE")
}

// names reports whether a list has one of the words, or "*".
func names(m fields, list string, words ...string) bool {
	return slices.ContainsFunc(items(m, list), func(item any) bool {
		text, isText := item.(string)
		return isText && (text == "*" || slices.Contains(words, text))
	})
}
