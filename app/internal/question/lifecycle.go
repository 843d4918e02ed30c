// SPDX-License-Identifier: Apache-2.0

package question

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Lifecycle is the data of one reconciliation that questions are about. Fields describes each value.
// An empty string is a value, too. A question never changes a Lifecycle.
type Lifecycle struct {
	Trace  trace.TraceID
	Object object.Ref
	// Workload is the kind and the name, as in "Deployment/web".
	Workload string

	Verb, Actor, User string
	Outcome, Reason   string
	Heals             string

	// Start counts as the nearest time in 64 bits of nanoseconds.
	Start    time.Time
	Duration time.Duration
	// Phases has the lengths of the phases by their names in Phases. Other phases are missing.
	Phases map[string]time.Duration
	// Steps are the spans of the phases, in any order.
	Steps []Step

	// Volumes is nil for an object without a Pod's spec.
	Volumes    *int64
	Node, Zone string
	// Region, InstanceType and Runtime are those of the Node.
	Region, InstanceType, Runtime string
	// Images are distinct.
	Images []string
	Labels map[string]string
}
