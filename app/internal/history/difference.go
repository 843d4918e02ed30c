// SPDX-License-Identifier: Apache-2.0

package history

import (
	"math/bits"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Difference is the difference between two neighbouring versions of an object, outside the status.
type Difference struct {
	// Known is false if a version has no table of fields.
	Known bool
	// Paths are the paths of the changed fields, in order, without bookkeeping.
	Paths []string
	// Parts are the parts with changed fields.
	Parts kind.Part
	// Scale means that a ReplicaSet got its Deployment's new number of replicas (rule D5).
	Scale bool
	// managers has the bits of the common owners of all changed fields, bookkeeping included,
	// removed fields excluded. It is 0 without a common owner.
	managers uint64
}

// pathDesiredReplicas is the path of a ReplicaSet's copy of its Deployment's number of replicas.
const pathDesiredReplicas = "metadata.annotations[deployment.kubernetes.io/desired-replicas]"

// pathLastApplied is the path of the manifest that a client has applied. Without a change of metadata,
// it shows a change of the content that is not read.
const pathLastApplied = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]"

// Compare returns the difference between u and v, two neighbouring versions of an object of kind k.
// u is the older one.
func Compare(k *kind.Kind, u, v *Version) Difference {
	if u.Fields == nil || v.Fields == nil {
		return Difference{}
	}
	c := Difference{Known: true}
	if u.Fields == v.Fields {
		return c
	}
	managers, some, data, applied := ^uint64(0), false, false, false
	CompareFields(u.Fields.Leaves, v.Fields.Leaves, func(path string, after *observation.Leaf) {
		if path == observation.PathData && k.MetadataOnly {
			data = true // its digest differs in each version
			return
		}
		if after != nil {
			managers, some = managers&after.Managers, true
		}
		applied = applied || path == pathLastApplied
		c.add(k, path)
	})
	if data && len(c.Paths) == 0 && (!some || applied) {
		if !some {
			managers, some = v.Field(observation.PathData).Managers, true
		}
		c.add(k, observation.PathData)
	}
	if some {
		c.managers = managers
	}
	return c
}

// Spec reports whether the difference is in the desired state, apart from metadata.
func (c *Difference) Spec() bool { return c.Parts&^kind.Metadata != 0 }

// Metadata reports whether labels or annotations differ.
func (c *Difference) Metadata() bool { return c.Parts&kind.Metadata != 0 }

// add adds the changed field at path.
func (c *Difference) add(k *kind.Kind, path string) {
	part := k.Part(path)
	if part == kind.Bookkeeping {
		c.Scale = c.Scale || path == pathDesiredReplicas
		return
	}
	c.Parts |= part
	c.Paths = append(c.Paths, path)
}

// CompareFields calls each for every changed field, in order of the paths. u and v are sorted by
// path. after is nil for a removed field.
func CompareFields(u, v []observation.Leaf, each func(path string, after *observation.Leaf)) {
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

// Author returns the field manager of the change, or "" if it is unknown: the only owner of all
// changed fields (rule A1). The API server sets the time of the writer's entry. So a single entry
// with another time names the writer of a removal.
func (c *Difference) Author(u, v *Version) string {
	name, several := "", false
	found := func(m *observation.Manager) {
		several = several || name != "" && name != m.Name
		name = m.Name
	}
	one := bits.OnesCount64(c.managers) == 1
	for left := c.managers; left != 0; left &= left - 1 {
		// The content of an object read as metadata only may have several owners.
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

// sameTime returns a test for a field manager's entry with the identity and time of m.
func sameTime(m *observation.Manager) func(*observation.Manager) bool {
	return func(o *observation.Manager) bool {
		return o.Name == m.Name && o.Operation == m.Operation && o.Subresource == m.Subresource &&
			o.Time.Equal(m.Time)
	}
}

// Timed reports whether the managedFields of v have the time of the write after u: an entry of the manager
// with another time than in u. An empty manager means any. The entry of a scaling has no time.
func Timed(u, v *Version, manager string) bool {
	return slices.ContainsFunc(v.Managers, func(m *observation.Manager) bool {
		return !m.Time.IsZero() && (manager == "" || m.Name == manager) &&
			(manager == "" || m.Subresource != "status") && !slices.ContainsFunc(u.Managers, sameTime(m))
	})
}
