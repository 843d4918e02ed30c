// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// State is an object as stored at one resourceVersion.
type State struct {
	object.Ref
	ResourceVersion uint64 `json:"resourceVersion"`
	// Generation is 0 for kinds that do not count it.
	Generation int64 `json:"generation,omitempty"`
	// Desired is a digest of the desired state: spec, data, labels and what
	// else a controller acts on, without what binding, status or bookkeeping
	// write. For kinds that are read as metadata only it is derived from the
	// resourceVersion: every write of theirs counts.
	Desired uint64 `json:"desired"`
	// Template is a digest of the Pod template, where there is one.
	Template uint64 `json:"template,omitempty"`
	// Reconciled says that somebody acts on this kind's desired state: it has
	// a status or counts generations. A ConfigMap has neither.
	Reconciled bool `json:"reconciled,omitempty"`

	Created time.Time `json:"created"`
	// Deleting is deletionTimestamp: the moment by which a graceful deletion
	// ends, GraceSeconds after it was asked for. Zero if not being deleted.
	Deleting     time.Time `json:"deleting,omitzero"`
	GraceSeconds int64     `json:"graceSeconds,omitempty"`
	Finalizers   []string  `json:"finalizers,omitempty"`

	Owners   []object.Owner `json:"owners,omitempty"`
	Managers []Manager      `json:"managers,omitempty"`

	// TraceParent and TraceState are the context that the object carries, as
	// W3C text whatever its form there; TraceConvention names the convention it
	// came by, such as "kep-5915".
	TraceParent     string `json:"traceParent,omitempty"`
	TraceState      string `json:"traceState,omitempty"`
	TraceConvention string `json:"traceConvention,omitempty"`
	// GenerateName is kept of an object that carries a context: what was made
	// for it before it had a name knows it by this.
	GenerateName string `json:"generateName,omitempty"`

	// ObservedGeneration is status.observedGeneration; -1 if absent.
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []Condition `json:"conditions,omitempty"`
	// Progress is the generic verdict of kstatus.
	Progress        Progress `json:"progress"`
	ProgressMessage string   `json:"progressMessage,omitempty"`

	Pod      *Pod      `json:"pod,omitempty"`
	Workload *Workload `json:"workload,omitempty"`
	Node     *Node     `json:"node,omitempty"`
}

// Progress is how far an object has come toward its desired state.
type Progress string

// The verdicts of kstatus that matter here.
const (
	ProgressCurrent     Progress = "Current"
	ProgressInProgress  Progress = "InProgress"
	ProgressFailed      Progress = "Failed"
	ProgressTerminating Progress = "Terminating"
)

// Manager is one managedFields entry: who owns which fields.
type Manager struct {
	Name        string `json:"name"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// Time has whole seconds.
	Time time.Time `json:"time,omitzero"`
	// Fields is a digest of the fields owned.
	Fields uint64 `json:"fields"`
}

// Condition is one status condition. Since (lastTransitionTime) has whole
// seconds.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Condition returns the condition of that type, or nil.
func (s *State) Condition(typ string) *Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == typ {
			return &s.Conditions[i]
		}
	}
	return nil
}

// Workload is the part of a Deployment, ReplicaSet, StatefulSet or DaemonSet
// that says how far it has come. All counts are of Pods.
type Workload struct {
	// Replicas is the number asked for.
	Replicas  int32 `json:"replicas"`
	Paused    bool  `json:"paused,omitempty"`
	Total     int32 `json:"total"`
	Updated   int32 `json:"updated,omitempty"`
	Ready     int32 `json:"ready,omitempty"`
	Available int32 `json:"available,omitempty"`
	// Revision is the annotation deployment.kubernetes.io/revision.
	Revision string `json:"revision,omitempty"`
}

// Node is the part of a Node that its Pods' spans name.
type Node struct {
	Region       string `json:"region,omitempty"`
	Zone         string `json:"zone,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	ProviderID   string `json:"providerID,omitempty"`
}
