// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Version is an object as stored at one resourceVersion, with the observation of that version. It
// is an observation.State, divided into parts that change together, because an engine keeps many
// versions. An unchanged part is shared with the version before, and equal parts are shared between
// objects. So the data behind the pointers of a version must never change.
type Version struct {
	*Intent
	*Status
	// ResourceVersion is the place of the version in the order of all writes. Foreign is 0, or the
	// object's own resourceVersion if another storage than the cluster's keeps the object (storage.go).
	ResourceVersion, Foreign uint64
	// Managers are the managedFields entries, in the order of observation.State.Managers.
	Managers []*observation.Manager
	// Seen is the time of the observation.
	Seen time.Time
	// Listed means that only a list or a late watch showed the version.
	Listed bool
	// Late is Observation.Late. The resourceVersion is then that of the write.
	Late bool
	// Baseline marks the state at the start of the observer, or the oldest version of a folded
	// object. That state is not a write.
	Baseline bool
	// HandedOut means that Take has handed out a trace with the write of this version.
	HandedOut bool
}

// Intent is the desired side of a version: identity, owners and desired state. Few writes change
// it.
type Intent struct {
	*object.Ref `state:"-"` // of the record
	*Leave
	*Origin
	*IntentExtra
	// Created is the creationTimestamp. The other fields are as in observation.State.
	Created    time.Time
	Owners     []object.Owner
	Generation int64
	Desired    uint64
	Reconciled bool
	// Fields is the table of the fields of the object; nil if the source gave none.
	Fields *Fields
}

// Fields is a table of fields, as in observation.State.Leaves. Objects with equal fields share it.
type Fields struct{ Leaves []observation.Leaf }

// Leave is the deletion of an object. It is the same for all objects without a deletion.
type Leave struct {
	// Deleting is the deletionTimestamp, GraceSeconds after the request; zero without a deletion.
	Deleting     time.Time
	GraceSeconds int64
}

// Origin is the trace context on an object, and the prefix of its generated name. It is the same
// for all Pods of a ReplicaSet without a context.
type Origin struct {
	TraceParent     string
	TraceState      string
	TraceConvention string
	GenerateName    string
}

// Status is the observed side of a version: the progress of the object.
type Status struct {
	*Verdict
	*StatusExtra
	ObservedGeneration int64
	Conditions         []*observation.Condition
	Pod                *PodState
	Workload           *observation.Workload
}

// Verdict is the result for the object, with the source of the result.
type Verdict struct {
	Progress        observation.Progress
	ProgressMessage string
	JudgedBy        observation.Judge
}

// PodState is the part of a Pod from which its phases are derived.
type PodState struct {
	*PodSpec
	*PodPhase
	*PodExtra
	Containers []*observation.Container
}

// PodSpec holds the Node, the scheduler, the gates and the number of volumes of a Pod. Binding
// changes it.
type PodSpec struct {
	Node            string
	Scheduler       string
	ReadinessGates  []string
	SchedulingGates []string
	Volumes         int
}

// PodPhase is the phase of a Pod as a whole, with its reason and message.
type PodPhase struct {
	Phase   string
	Reason  string
	Message string
}

// Condition returns the condition of the type typ, or nil.
func (s *Status) Condition(typ string) *observation.Condition {
	for _, c := range s.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return nil
}

// Container returns the container of that name, or nil. If init is true, it is an init container.
func (p *PodState) Container(name string, init bool) *observation.Container {
	list := p.Containers
	if init {
		list = p.Init
	}
	for _, c := range list {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Field returns the field of v at path, or nil. v may be nil.
func (v *Version) Field(path string) *observation.Leaf {
	if v == nil || v.Fields == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(v.Fields.Leaves, path, func(l observation.Leaf, path string) int {
		return strings.Compare(l.Path, path)
	})
	if !found {
		return nil
	}
	return &v.Fields.Leaves[i]
}
