// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Since returns the time when an object got r, its present reason; zero if nothing shows it. v is its newest
// version, and waits are its reasons so far. The first of these times counts, the most exact one: that of the
// reason itself, the first version with the reason, and what v alone shows (see Found).
func Since(r Reason, v *history.Version, waits []Wait) time.Time {
	if !r.Since.IsZero() {
		return r.Since
	}
	n := len(waits)
	if n == 0 || waits[n-1].Category != r.Category || waits[n-1].Since.IsZero() {
		return Found(r, v)
	}
	if slices.Contains(initial, r.Category) && waits[0].Since.IsZero() {
		return Found(r, v) // its Events are forgotten after an hour, and come again
	}
	return waits[n-1].Since
}

// Found returns the time when an object got r, as far as its version v alone shows that; zero if it does not. The
// transition of a condition counts: of the one that shows the reason, or else of the one that the object lacks. An
// object that can have its reason only from the beginning has it since its creation.
func Found(r Reason, v *history.Version) time.Time {
	switch {
	case !r.Since.IsZero():
		return r.Since
	case r.Cause != "", v == nil:
		return time.Time{} // another object decides
	case !r.Shown.IsZero():
		return r.Shown
	case slices.Contains(initial, r.Category):
		return v.Created
	case len(r.Fields) > 0 && r.Fields[0].Of == (object.Ref{}):
		return Written(v, r.Fields[0].Path)
	}
	if c := unmet(v); c != nil {
		return c.Since
	}
	return time.Time{}
}

// initial are the categories that an object has from its creation on, or never.
var initial = []Category{
	ClaimUnused, ClaimUnbound, ClaimWithoutClass, ClaimUnprovisioned, LoadBalancer, CertificateUnsigned,
}

// unmet returns the condition with a time that a converged object of the kind has, and that v lacks; nil if there is
// none. A Pod without a Node lacks that of its scheduling.
func unmet(v *history.Version) *observation.Condition {
	for _, typ := range append([]string{"PodScheduled"}, desired(v)...) {
		if c := v.Condition(typ); c != nil && c.Status != "True" && !c.Since.IsZero() {
			return c
		}
	}
	return nil
}

// desired are the conditions of converged objects, the most telling first.
func desired(v *history.Version) []string {
	return slices.Concat(
		[]string{"Synced", "Healthy"}, kind.Of(v.Group, v.Kind.Kind).Goals,
		[]string{"Available", judge.PodReady, "Succeeded"},
	)
}

// Written returns the time of the last write by a manager of the field at path, or of the fields below it; zero if
// that is not known.
func Written(v *history.Version, path string) time.Time {
	var last time.Time
	for _, l := range leavesOf(v) {
		if !inside(l.Path, path) {
			continue
		}
		for i, m := range v.Managers {
			if i < 64 && l.Managers&(1<<i) != 0 {
				last = history.Later(last, m.Time)
			}
		}
	}
	return last
}

// inside reports whether a path is that of the field, or of one inside it.
func inside(path, field string) bool {
	return len(path) >= len(field) && path[:len(field)] == field &&
		(len(path) == len(field) || path[len(field)] == '.' || path[len(field)] == '[')
}
