// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// difference is the difference between two neighbouring versions of an object, outside the status.
type difference struct {
	// known is false if a version has no table of fields.
	known bool
	// paths are the changed fields in order, without bookkeeping.
	paths []string
	// parts are the parts with changed fields.
	parts kind.Part
	// scale means that a ReplicaSet learned of its Deployment's new number of replicas.
	scale bool
	// managers has the bits of the field managers that own every changed field that is still
	// there, bookkeeping included. It is 0 if there is none.
	managers uint64
}

// pathDesiredReplicas is the path of the Deployment's number of replicas, as a ReplicaSet repeats it.
const pathDesiredReplicas = "metadata.annotations[deployment.kubernetes.io/desired-replicas]"

// compare compares two versions of an object of kind k.
func compare(k *kind.Kind, u, v *version) difference {
	if u.fields == nil || v.fields == nil {
		return difference{}
	}
	c := difference{known: true}
	if u.fields == v.fields {
		return c
	}
	managers, some, data := ^uint64(0), false, false
	compareFields(u.fields.leaves, v.fields.leaves, func(path string, after *observation.Leaf) {
		if path == observation.PathData && k.MetadataOnly {
			data = true // its digest differs in each version
			return
		}
		if after != nil {
			managers, some = managers&after.Managers, true
		}
		c.add(k, path)
	})
	if data && len(c.paths) == 0 && !some {
		i, _ := slices.BinarySearchFunc(v.fields.leaves, observation.PathData, comparePath)
		managers, some = v.fields.leaves[i].Managers, true
		c.add(k, observation.PathData)
	}
	if some {
		c.managers = managers
	}
	return c
}

// spec reports whether the difference is in the desired state, apart from metadata.
func (c *difference) spec() bool { return c.parts&^kind.Metadata != 0 }

// metadata reports whether labels or annotations differ.
func (c *difference) metadata() bool { return c.parts&kind.Metadata != 0 }

func comparePath(l observation.Leaf, path string) int { return strings.Compare(l.Path, path) }

func (c *difference) add(k *kind.Kind, path string) {
	part := k.Part(path)
	if part == kind.Bookkeeping {
		c.scale = c.scale || path == pathDesiredReplicas
		return
	}
	c.parts |= part
	c.paths = append(c.paths, path)
}

// compareFields calls each for every field that differs. after is nil for a removed field.
func compareFields(u, v []observation.Leaf, each func(path string, after *observation.Leaf)) {
	i, j := 0, 0
	for i < len(u) || j < len(v) {
		switch {
		case j == len(v) || i < len(u) && u[i].Path < v[j].Path:
			each(u[i].Path, nil)
			i++
		case i == len(u) || v[j].Path < u[i].Path:
			each(v[j].Path, &v[j])
			j++
		default:
			if u[i].Value != v[j].Value {
				each(v[j].Path, &v[j])
			}
			i, j = i+1, j+1
		}
	}
}

// author returns the field manager that made the change, or "" if it is unknown: the only one that
// owns all changed fields (rule A1). The API server sets the time of the writer's entry, so a single
// entry with another time names the writer of a removal.
func (c *difference) author(u, v *version) string {
	name, several := "", false
	found := func(m *observation.Manager) {
		several = several || name != "" && name != m.Name
		name = m.Name
	}
	one := bits.OnesCount64(c.managers) == 1
	for left := c.managers; left != 0; left &= left - 1 {
		// Several own the content of an object that is read as metadata only.
		i := bits.TrailingZeros64(left)
		if i < len(v.Managers) && (one || !slices.ContainsFunc(u.Managers, sameTime(v.Managers[i]))) {
			found(v.Managers[i])
		}
	}
	if c.managers == 0 {
		for _, m := range v.Managers {
			if m.Subresource != "status" && !m.Time.IsZero() && !slices.ContainsFunc(u.Managers, sameTime(m)) {
				found(m)
			}
		}
	}
	if several || name == "ancient-changes" {
		return ""
	}
	return name
}

// sameTime reports whether a field manager's entry has the identity and time of m.
func sameTime(m *observation.Manager) func(*observation.Manager) bool {
	return func(o *observation.Manager) bool {
		return o.Name == m.Name && o.Operation == m.Operation && o.Subresource == m.Subresource &&
			o.Time.Equal(m.Time)
	}
}
