// SPDX-License-Identifier: Apache-2.0

// Package kind holds the properties of Kubernetes' own kinds of objects: one file per kind. Rules
// about the course of changes are in package lifecycle.
package kind

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Kind describes one kind. The zero value stands for an unknown kind.
type Kind struct {
	object.Kind
	// Resource is the name in API paths: "deployments".
	Resource string
	// Short is the short name in kubectl: "deploy". It may be empty.
	Short string
	// ClusterScoped is true for objects without a namespace.
	ClusterScoped bool

	// Controller is the component that reconciles the kind. It is needed because
	// all controllers of kube-controller-manager share one field manager.
	Controller string
	// Owner is true if other objects have controllers of this kind.
	Owner bool
	// Effects are the kinds of the objects, in the same namespace, that show the
	// effects of a write.
	Effects []*Kind

	// Filled are the beginnings of paths of fields that the cluster fills in, such as
	// "spec.nodeName". They are not part of the desired state.
	Filled []string
	// Parts are the fields that are reconciled apart from the rest of the spec.
	Parts []Field
	// Fields are the observed fields outside metadata, such as "spec.replicas". Empty means
	// all. It is set for kinds with very many objects.
	Fields []string
	// Shown are the fields outside metadata whose values may be shown, such as "spec.replicas". Each stands
	// for all below it, too. The values of labels may be shown unless the kind is MetadataOnly.
	Shown []string
	// MetadataOnly is true for kinds whose content is in no observation.
	MetadataOnly bool
	// Replicas is the place of the replica counts in the status.
	Replicas Replicas
	// Quiet is the time after which the controller has surely handled a change, for a kind whose status
	// does not show this. Zero means the engine's default.
	Quiet time.Duration
	// Progress is true if the status shows, without observedGeneration, that the
	// controller has handled a change.
	Progress bool

	// Goals are the conditions that a converged object has. They are in the status, or in the status for
	// each parent of the object. Empty means that the conditions of other kinds count.
	Goals []string
	// Ongoing are the conditions of work that has not ended. A converged object of a kind with Goals has
	// none of them.
	Ongoing []string
	// State is the field of the status that shows whether the object has its desired state; its zero
	// value stands for the conditions.
	State State

	// Relations are the fields with the names of other objects.
	Relations []Relation

	// Immediate is true for kinds whose updates hold as soon as they are stored. Only a new object has
	// something to wait for.
	Immediate bool
	// Recalled is true for kinds whose changes may cause later changes of other objects, without
	// being reconciled themselves.
	Recalled bool
	// Default is the name of the object that kube-controller-manager makes in each Namespace.
	Default string
	// Schedule is true for kinds whose controller makes an object at set times. Each of these objects is
	// a separate change, and replaces none before it.
	Schedule bool

	// Attributes is the prefix of the kind's name and UID in the semantic
	// conventions of OpenTelemetry: "k8s.deployment.". It is empty if the
	// conventions have none.
	Attributes string
}

// State is a field of the status with one word for the state of an object.
type State struct {
	// Field and Message are the names of the fields with the state and with its reason.
	Field, Message string
	// Done and Failed are the states of an object with its desired state, and of one that has failed for
	// good.
	Done, Failed []string
}

// Replicas names the fields with the replica counts of a kind.
type Replicas string

const (
	// NoReplicas is for a kind that does not run Pods by number.
	NoReplicas Replicas = ""
	// ReplicaCounts are spec.replicas, status.replicas, status.readyReplicas …
	ReplicaCounts Replicas = "replicas"
	// NodeCounts are status.desiredNumberScheduled, status.numberReady … of a
	// DaemonSet.
	NodeCounts Replicas = "nodes"
	// JobCounts are spec.parallelism, spec.completions and status.active of a Job.
	JobCounts Replicas = "jobs"
)

// Is reports whether an object is of this kind, in any version.
func (k *Kind) Is(of object.Kind) bool { return k.Kind.Kind == of.Kind && k.Group == of.Group }

// GroupVersionResource returns the resource of the kind.
func (k *Kind) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// GroupKind returns the group and name of the kind.
func (k *Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind.Kind}
}
