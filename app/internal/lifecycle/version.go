// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// version is the object as stored at one resourceVersion, and when that was
// learned. It is an observation.State cut into the parts that change together,
// because an engine keeps many: what did not change is shared with the version
// before, and what is alike with other objects. So nothing that a version points
// at may ever be changed.
type version struct {
	*intent
	*status
	ResourceVersion uint64
	Managers        []*observation.Manager
	seen            time.Time
	listed          bool
	// late is Observation.Late: the resourceVersion is that of the write.
	late     bool
	baseline bool
	// told: Take has handed out a trace that tells of the write.
	told bool
}

// intent is what is wanted of the object: few of its writes change it.
type intent struct {
	*object.Ref
	*leave
	*origin
	Created    time.Time
	Owners     []object.Owner
	Finalizers []string
	Generation int64
	Desired    uint64
	Reconciled bool
	// fields is the table of its fields; nil if the source gave none.
	fields *fields
}

// fields is observation.State.Leaves. Objects with equal fields share it.
type fields struct{ leaves []observation.Leaf }

// leave is how the object is going; the same for all that stay.
type leave struct {
	Deleting     time.Time
	GraceSeconds int64
}

// origin is the context that the object carries, and the prefix of its generated name; the same for
// all Pods of a ReplicaSet without a context.
type origin struct {
	TraceParent     string
	TraceState      string
	TraceConvention string
	GenerateName    string
}

// status is how far the object has come.
type status struct {
	*progress
	ObservedGeneration int64
	Conditions         []*observation.Condition
	Pod                *podState
	Workload           *observation.Workload
}

// progress is the generic verdict on the object.
type progress struct {
	Progress        observation.Progress
	ProgressMessage string
}

// podState is the part of a Pod that its phases are read from.
type podState struct {
	*podSpec
	*podPhase
	Init       []*observation.Container
	Containers []*observation.Container
	// Scheduled is when its binding was admitted, in nanoseconds since 1970; 0 if
	// no annotation tells.
	Scheduled int64
}

// podSpec is what a Pod waits for before its containers count; binding changes
// it.
type podSpec struct {
	Node            string
	Scheduler       string
	ReadinessGates  []string
	SchedulingGates []string
	Volumes         int
}

// podPhase is how a Pod is as a whole.
type podPhase struct {
	Phase   string
	Reason  string
	Message string
}

// Condition returns the condition of that type, or nil.
func (s *status) Condition(typ string) *observation.Condition {
	for _, c := range s.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return nil
}
