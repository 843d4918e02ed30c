// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ready is the condition of a SchedulingPolicy.
const Ready = "Ready"

// Reasons of the condition Ready.
const (
	// ReasonReady means that the scheduler runs the profile, and that all workloads are placed.
	ReasonReady = "Ready"
	// ReasonReplacing means that workloads are being placed again.
	ReasonReplacing = "Replacing"
	// ReasonSchedulerFailed means that the scheduler does not run the profile.
	ReasonSchedulerFailed = "SchedulerFailed"
)

// Strategy is how NodeResourcesFit scores nodes.
// +kubebuilder:validation:Enum=LeastAllocated;MostAllocated
type Strategy string

// The strategies.
const (
	LeastAllocated Strategy = "LeastAllocated"
	MostAllocated  Strategy = "MostAllocated"
)

// Weight is the weight of one Score plugin.
type Weight struct {
	// plugin is its name.
	// +required
	// +kubebuilder:validation:Enum=ImageLocality;InterPodAffinity;NodeAffinity;NodeResourcesBalancedAllocation;NodeResourcesFit;PodTopologySpread;TaintToleration
	Plugin string `json:"plugin"`

	// weight is the factor of its scores.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`
}

// Profile is the difference to the scheduler's default profile.
type Profile struct {
	// strategy is how NodeResourcesFit scores nodes.
	// +optional
	// +kubebuilder:default=LeastAllocated
	Strategy Strategy `json:"strategy,omitempty"`

	// weights are the weights of Score plugins. Other plugins keep the scheduler's default.
	// +optional
	// +listType=map
	// +listMapKey=plugin
	// +kubebuilder:validation:MaxItems=16
	Weights []Weight `json:"weights,omitempty"`

	// disabledFilters are Filter plugins that do not run.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Enum=InterPodAffinity;NodeAffinity;NodeName;NodePorts;NodeResourcesFit;NodeUnschedulable;NodeVolumeLimits;PodTopologySpread;TaintToleration;VolumeBinding;VolumeRestrictions;VolumeZone
	DisabledFilters []string `json:"disabledFilters,omitempty"`

	// disabledScores are Score plugins that do not run.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Enum=ImageLocality;InterPodAffinity;NodeAffinity;NodeResourcesBalancedAllocation;NodeResourcesFit;PodTopologySpread;TaintToleration
	DisabledScores []string `json:"disabledScores,omitempty"`
}

// SchedulingPolicySpec is the desired state of a SchedulingPolicy.
type SchedulingPolicySpec struct {
	// profile is the profile of the scheduler.
	// +optional
	// +kubebuilder:default={}
	Profile Profile `json:"profile,omitzero"`

	// workloads selects Deployments that are placed again after a change of the profile. Only
	// those whose Pods name the policy as their scheduler count. Without a selector, there are none.
	// +optional
	Workloads *metav1.LabelSelector `json:"workloads,omitempty"`
}

// SchedulingPolicyStatus is the observed state of a SchedulingPolicy.
type SchedulingPolicyStatus struct {
	// observedGeneration is the generation that the conditions describe.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// profile is the profile that the scheduler runs.
	// +optional
	Profile *Profile `json:"profile,omitempty"`

	// changed is the time of the last change of the running profile. Older Pods were placed by an
	// earlier one. Empty means that there was no earlier one.
	// +optional
	Changed *metav1.MicroTime `json:"changed,omitempty"`

	// conditions has one member, Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SchedulingPolicy is one profile of the operator's scheduler. Its name is the schedulerName of the
// Pods.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.profile.strategy`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'default-scheduler'",message="default-scheduler is the cluster's own scheduler"
type SchedulingPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +optional
	// +kubebuilder:default={}
	Spec SchedulingPolicySpec `json:"spec,omitzero"`
	// +optional
	Status SchedulingPolicyStatus `json:"status,omitzero"`
}

// SchedulingPolicyList is a list of SchedulingPolicies.
// +kubebuilder:object:root=true
type SchedulingPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SchedulingPolicy `json:"items"`
}
