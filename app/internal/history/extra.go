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

// RecordExtra holds the fields of a Record that most objects lack.
type RecordExtra struct {
	Requests []*observation.Write
	// Refers are the last known relations, and Names the names to which others may refer. The
	// engine's index of relations uses them.
	Refers []object.Relation
	Names  []object.Name
}

// Objects without any of these fields share one value, to save memory.
var (
	noIntentExtra = &IntentExtra{}
	noStatusExtra = &StatusExtra{}
	noPodExtra    = &PodExtra{}
	noRecordExtra = &RecordExtra{}
)

// Kept returns a pointer to the kept copy of e.
func (e IntentExtra) Kept() *IntentExtra {
	if len(e.Relations)+len(e.Finalizers) == 0 {
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

// Requests returns the requests, in order.
func (t *Record) Requests() []*observation.Write { return t.extra().Requests }

// SetRequests replaces the requests.
func (t *Record) SetRequests(requests []*observation.Write) {
	e := *t.extra()
	e.Requests = requests
	t.setExtra(e)
}

// Refers returns the relations in the index.
func (t *Record) Refers() []object.Relation { return t.extra().Refers }

// SetRefers replaces the relations in the index.
func (t *Record) SetRefers(refers []object.Relation) {
	e := *t.extra()
	e.Refers = refers
	t.setExtra(e)
}

// Names returns the names in the index.
func (t *Record) Names() []object.Name { return t.extra().Names }

// SetNames replaces the names in the index.
func (t *Record) SetNames(names []object.Name) {
	e := *t.extra()
	e.Names = names
	t.setExtra(e)
}

func (t *Record) extra() *RecordExtra {
	if t.Extra == nil {
		return noRecordExtra
	}
	return t.Extra
}

func (t *Record) setExtra(e RecordExtra) {
	t.Extra = nil
	if len(e.Requests)+len(e.Refers)+len(e.Names) > 0 {
		t.Extra = kept(e)
	}
}
