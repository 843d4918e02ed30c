// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// known resolves a kind without a cluster.
func known(named, name string) (Target, bool) {
	plain, group, qualified := strings.Cut(named, ".")
	lower := strings.ToLower(plain)
	for _, k := range kind.All() {
		if qualified && group != k.Group {
			continue
		}
		if lower == strings.ToLower(k.Kind.Kind) || lower == k.Resource || lower == k.Short && k.Short != "" {
			return Target{Kind: k.GroupKind(), Name: name, Namespaced: !k.ClusterScoped}, true
		}
	}
	if !unicode.IsUpper(rune(named[0])) {
		return Target{}, false
	}
	return Target{Kind: schema.GroupKind{Group: group, Kind: plain}, Name: name, Namespaced: true}, true
}
