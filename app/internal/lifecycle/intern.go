// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// interner keeps one copy of strings that recur.
type interner map[string]string

func (in interner) str(s string) string {
	if known, ok := in[s]; ok {
		return known
	}
	if len(in) > 1<<16 {
		clear(in) // bounded: what recurs comes back
	}
	in[s] = s
	return s
}

// share returns s with the parts that did not change since the version before
// replaced by that version's: most writes change little.
func (interner) share(s, before *observation.State) *observation.State {
	shared := *s
	shared.Ref = before.Ref
	if slices.Equal(s.Owners, before.Owners) {
		shared.Owners = before.Owners
	}
	if slices.Equal(s.Finalizers, before.Finalizers) {
		shared.Finalizers = before.Finalizers
	}
	if slices.Equal(s.Conditions, before.Conditions) {
		shared.Conditions = before.Conditions
	}
	return &shared
}
