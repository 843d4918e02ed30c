// SPDX-License-Identifier: Apache-2.0

package history

import (
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// IntentExtra holds the fields of an Intent that most objects lack. It is never nil.
type IntentExtra struct {
	Relations  []object.Relation
	Finalizers []string
	Labels     []object.Label
}

// StatusExtra holds the fields of a Status that only a few kinds have. It is never nil.
type StatusExtra struct {
	Autoscaler *observation.Autoscaler
	Revision   *observation.Revision
	Endpoints  *observation.Endpoints
}

// PodExtra holds the fields of a PodState that most Pods lack. It is never nil.
type PodExtra struct {
	Init []*observation.Container
	// Scheduled is the admission time of the binding, in nanoseconds since 1970; 0 if no annotation
	// has it.
	Scheduled int64
}

// Objects without any of these fields share one value, to save memory.
var (
	noIntentExtra = &IntentExtra{}
	noStatusExtra = &StatusExtra{}
	noPodExtra    = &PodExtra{}
)

// Kept returns a pointer to the kept copy of e.
func (e IntentExtra) Kept() *IntentExtra {
	if len(e.Relations)+len(e.Finalizers)+len(e.Labels) == 0 {
		return noIntentExtra
	}
	return kept(e)
}

// Kept returns a pointer to the kept copy of e.
func (e StatusExtra) Kept() *StatusExtra {
	if e == *noStatusExtra {
		return noStatusExtra
	}
	return kept(e)
}

// Kept returns a pointer to the kept copy of e.
func (e PodExtra) Kept() *PodExtra {
	if len(e.Init) == 0 && e.Scheduled == 0 {
		return noPodExtra
	}
	return kept(e)
}
