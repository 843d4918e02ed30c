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
	// Order is the place of this version among those of the cluster's storage, for an object in
	// another storage. It is 0 for an object in the cluster's storage.
	Order uint64 `json:"order,omitempty"`
	// Generation is 0 for kinds without one.
	Generation int64 `json:"generation,omitempty"`
	// Desired is a digest of the desired state: spec, data, labels and other input of controllers,
	// without the output of binding, status and bookkeeping. For kinds read as metadata only, it is
	// derived from the resourceVersion, so that every write counts. It depends on the observer's
	// key, like the digests of the leaves.
	Desired uint64 `json:"desired"`
	// Leaves are the fields outside the status, sorted by path. Older recordings have none.
	Leaves []Leaf `json:"leaves,omitempty"`
	// Reconciled means that a controller acts on this kind's desired state: it has a status or a
	// generation. A ConfigMap has neither. An EndpointSlice has a generation, but no controller.
	Reconciled bool `json:"reconciled,omitempty"`

	Created time.Time `json:"created"`
	// Deleting is deletionTimestamp, the end of a graceful deletion, GraceSeconds after its
	// request. Zero if the object is not being deleted.
	Deleting     time.Time `json:"deleting,omitzero"`
	GraceSeconds int64     `json:"graceSeconds,omitempty"`
	Finalizers   []string  `json:"finalizers,omitempty"`
	// Labels are those with the configured keys, sorted by key. A Secret or ConfigMap has none.
	Labels []object.Label `json:"labels,omitempty"`

	Owners []object.Owner `json:"owners,omitempty"`
	// Relations are references to other objects by name, sorted.
	Relations []object.Relation `json:"relations,omitempty"`
	// Managers has the entries for the status last. Leaf.Managers counts positions in it.
	Managers []Manager `json:"managers,omitempty"`

	// TraceParent and TraceState are the object's trace context, as W3C text for any convention.
	// TraceConvention is the convention, such as "kep-5915".
	TraceParent     string `json:"traceParent,omitempty"`
	TraceState      string `json:"traceState,omitempty"`
	TraceConvention string `json:"traceConvention,omitempty"`
	// GenerateName is kept for an object with a context. A context made before the object had a
	// name refers to it.
	GenerateName string `json:"generateName,omitempty"`

	// ObservedGeneration is status.observedGeneration; -1 if absent.
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []Condition `json:"conditions,omitempty"`
	// Kept means that messages are kept as they are, on one line: they may quote values.
	Kept bool `json:"kept,omitempty"`
	// Masked means that a message has text of unknown form, in which the source has masked the values.
	Masked bool `json:"masked,omitempty"`
	// Progress is the verdict on the object, with its reason. JudgedBy is the source of the verdict on an
	// object without built-in rules; "" for all others, and in older recordings.
	Progress        Progress `json:"progress"`
	ProgressMessage string   `json:"progressMessage,omitempty"`
	JudgedBy        Judge    `json:"judgedBy,omitempty"`

	Pod      *Pod      `json:"pod,omitempty"`
	Workload *Workload `json:"workload,omitempty"`
	Node     *Node     `json:"node,omitempty"`
	// Endpoints are those of an EndpointSlice.
	Endpoints *Endpoints `json:"endpoints,omitempty"`
	// Autoscaler is that of a HorizontalPodAutoscaler.
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	// Revision is that of an object of a tool of continuous delivery.
	Revision *Revision `json:"revision,omitempty"`
}

// Progress is the state of an object on the way to its desired state.
type Progress string

// The values of Progress.
const (
	ProgressCurrent     Progress = "Current"
	ProgressInProgress  Progress = "InProgress"
	ProgressFailed      Progress = "Failed"
	ProgressTerminating Progress = "Terminating"
)

// Judge is the source of a verdict on an object without built-in rules.
type Judge string

// The sources of verdicts, see package health.
const (
	// JudgedByConfiguration is a rule of the configuration.
	JudgedByConfiguration Judge = "configuration"
	// JudgedByArgoCD is a health check of Argo CD's community.
	JudgedByArgoCD Judge = "argo-cd"
	// JudgedByNames are the names of conditions and states.
	JudgedByNames Judge = "names"
	// JudgedByKstatus is kstatus.
	JudgedByKstatus Judge = "kstatus"
	// JudgedByNothing means that nothing in the object shows its state. It counts as converged.
	JudgedByNothing Judge = "none"
	// JudgedByNothingYet is the same for one of the first objects of a kind with a status: its first status
	// may follow.
	JudgedByNothingYet Judge = "none yet"
)

// Held and Waits begin the ProgressMessage of an object that is paused or stopped: by its desired state,
// or until somebody lets it go on.
const (
	Held  = "held: "
	Waits = "paused: "
)

// Unconfirmed is the remark on the convergence of an object that shows nothing of its state.
const Unconfirmed = "unconfirmed: its status does not show its state"

// Manager is one managedFields entry: a manager and its fields.
type Manager struct {
	Name        string `json:"name"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// Time has whole seconds.
	Time time.Time `json:"time,omitzero"`
	// Fields is a digest of the owned fields.
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

// Released is the ProgressMessage of a PersistentVolume without its claim.
const Released = "released"

// Expanding begins the ProgressMessage of a PersistentVolumeClaim with less capacity than its request, which follows.
const Expanding = "waiting for its expansion to "

// Attaching begins the ProgressMessage of a VolumeAttachment without an error. The name of its attacher follows.
const Attaching = "waiting for attacher "

// Unaddressed is the ProgressMessage of a Service or an Ingress that works without the address of a load balancer.
const Unaddressed = "no address"

// Workload is the progress of a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job. All counts are of
// Pods. A Job has only Replicas and Total.
type Workload struct {
	// Replicas is the desired number. For a Job it is the number of completion indexes, or else of Pods
	// at the same time; 0 for a suspended Job.
	Replicas  int32 `json:"replicas"`
	Paused    bool  `json:"paused,omitempty"`
	Total     int32 `json:"total"`
	Updated   int32 `json:"updated,omitempty"`
	Ready     int32 `json:"ready,omitempty"`
	Available int32 `json:"available,omitempty"`
	// HistoryLimit is the number of old ReplicaSets that a Deployment keeps.
	HistoryLimit int32 `json:"historyLimit,omitempty"`
	// Revision is the annotation deployment.kubernetes.io/revision.
	Revision string `json:"revision,omitempty"`
	// Complete is when a Deployment's rollout was complete, in whole seconds.
	Complete time.Time `json:"complete,omitzero"`
}

// Node is the part of a Node for its Pods' spans.
type Node struct {
	Region       string `json:"region,omitempty"`
	Zone         string `json:"zone,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	ProviderID   string `json:"providerID,omitempty"`
	// Runtime is the container runtime and its version, as in "containerd://2.3.7".
	Runtime string `json:"runtime,omitempty"`
	// Kubelet is the version of the kubelet. Pool is the node pool, by a label of its provider.
	Kubelet string `json:"kubelet,omitempty"`
	Pool    string `json:"pool,omitempty"`
}
