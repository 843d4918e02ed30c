// SPDX-License-Identifier: Apache-2.0

// Package sample has the form in which finished lifecycles are compared and learned from: lengths of phases, and the
// circumstances that may explain them. It is pure, and knows no store.
package sample

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Total is the name of the whole length of a lifecycle among its phases: first write → first outcome.
const Total = "total"

// The names of attributes. A lifecycle may have several values of one attribute, such as two images.
const (
	Image        = "image"
	Registry     = "registry"
	Node         = "node"
	Zone         = "zone"
	InstanceType = "instance_type"
	NodePool     = "node_pool"
	Runtime      = "runtime"
	Kubelet      = "kubelet"
	StorageClass = "storage_class"
	Volumes      = "volumes"
	Author       = "author"
	Scheduler    = "scheduler"
	Webhook      = "webhook"
	Replicas     = "replicas"
	Requests     = "requests"
	Changed      = "changed"
)

// Attribute is one circumstance of a lifecycle. Names are those above.
type Attribute struct{ Name, Value string }

// Phases has the lengths of phases by their names in questions, and Total.
type Phases map[string]time.Duration

// Lifecycle is one finished reconciliation.
type Lifecycle struct {
	Start  time.Time
	Phases Phases
	// Attributes are sorted by name and value, without repetitions.
	Attributes []Attribute
}

// Rollup is one sample: the Pods of one workload that one change made, which share image and minute; or a single
// object.
type Rollup struct {
	Cluster, Namespace string
	// Workload is the kind and name, such as "Deployment/web". It is empty for an object without one.
	Workload string
	// Kind is that of the lifecycles, such as "Pod".
	Kind string
	// Verb is that of their first write: create, update or delete. Old Pods of a rollout are deleted in the trace
	// of the new ones, and are a Rollup of their own.
	Verb string
	// Trace is the trace of the change.
	Trace trace.TraceID
	// Heals: the cluster made the change by itself.
	Heals bool
	// Start is that of the first lifecycle.
	Start time.Time
	// Count is the number of lifecycles, and Phases has their medians.
	Count  int
	Phases Phases
	// Attributes are those that all lifecycles share, sorted by name and value.
	Attributes []Attribute
	// Parts divide the lifecycles by the attributes that differ among them, such as nodes: at most MaxParts, the
	// largest. It is empty if no attribute differs.
	Parts []Part
}

// MaxParts bounds the parts of a Rollup.
const MaxParts = 64

// Part is a share of a Rollup: the lifecycles with the same Attributes. The shared ones of the Rollup come in
// addition.
type Part struct {
	Count      int
	Phases     Phases
	Attributes []Attribute
}
