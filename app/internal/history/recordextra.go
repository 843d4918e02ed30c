// SPDX-License-Identifier: Apache-2.0

package history

import (
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// RecordExtra holds the fields of a Record that most objects lack.
type RecordExtra struct {
	Requests []*observation.Write
	// Refers are the last known relations, and Names the names to which others may refer. The
	// engine's index of relations uses them.
	Refers []object.Relation `state:"-"`
	Names  []object.Name     `state:"-"`
}

// noRecordExtra takes the place of a nil RecordExtra.
var noRecordExtra = &RecordExtra{}

// Requests returns the requests, in order of start, trace context and audit ID.
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

// extra returns the values of t, not to be changed.
func (t *Record) extra() *RecordExtra {
	if t.Extra == nil {
		return noRecordExtra
	}
	return t.Extra
}

// setExtra replaces the values of t.
func (t *Record) setExtra(e RecordExtra) {
	t.Extra = nil
	if len(e.Requests)+len(e.Refers)+len(e.Names) > 0 {
		t.Extra = kept(e)
	}
}
