// SPDX-License-Identifier: Apache-2.0

// Package cause finds the trace and the parent of each write, by the rules of one ordered list
// (cause.go), one file a rule. It asks about other objects and writes through the interface View,
// and places nothing itself.
package cause

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// View is the access of the rules to other objects and writes. All writes before the present one
// have been placed.
type View interface {
	// Object returns the object with the UID, or nil.
	Object(uid types.UID) *change.Timeline
	// Controller returns the controller owner of the object of t, or nil.
	Controller(t *change.Timeline) *object.Owner
	// Owns reports whether o, an owner reference of t, is possible.
	Owns(o object.Owner, t *change.Timeline) bool
	// Dependants returns the objects with the owner.
	Dependants(owner types.UID) []*change.Timeline
	// Named returns the objects with the name. Kinds with very many objects are left out.
	Named(name object.Name) []*change.Timeline
	// Referrers returns the objects with a relation to the name.
	Referrers(name object.Name) []*change.Timeline
	// History returns the reconciliations of an object, oldest first.
	History(uid types.UID) []*change.Reconciliation
	// Instants returns the instant changes of an object, oldest first.
	Instants(uid types.UID) []*change.Reconciliation
	// Current returns the newest reconciliation of an object, or nil.
	Current(uid types.UID) *change.Reconciliation
	// UnderWay returns the newest open reconciliation of the object of w. It is the newest one if
	// none is open, or nil without any.
	UnderWay(w *change.Write) *change.Reconciliation
	// LineOf returns the trace of the command with the request of w, or nil.
	LineOf(w *change.Write) *change.Lineage
	// Audited returns the request of w in the audit log, or nil.
	Audited(w *change.Write) *audit.Joined
	// Taken returns the remembered facts about a handed-out trace, and whether it was handed out.
	Taken(id trace.TraceID) (Taken, bool)
}

// Options configure the rules.
type Options struct {
	// Cluster is part of each trace ID.
	Cluster string
	// Quiet is the time after which an object without observedGeneration has converged.
	Quiet time.Duration
	// Settle is the time without a write after which a trace has ended.
	Settle time.Duration
	// Rebuild adds the reconciliations of converged objects from before the start.
	Rebuild bool
}

// Finder finds the causes of writes. It holds the intermediate results of several rules.
type Finder struct {
	View
	options Options
	// Lines are the traces, by ID.
	Lines map[trace.TraceID]*change.Lineage
	// roles are the dependants of an owner by role, by the UID of the owner. They are filled on
	// demand.
	roles map[types.UID]map[string][]*change.Timeline
	// censuses are the numbers of dependants, by the UID of the owner. They are filled on demand.
	censuses map[types.UID]Census
	// slotsOf are the slots of Pods, by the UIDs of their owner and of the Pod. They are filled on demand.
	slotsOf map[types.UID]map[types.UID]int
	// departed are the losses of dependants without an action of their controller, oldest first, by
	// the UID of the controller owner. A dependant on its way out counts as well.
	departed map[types.UID][]*departure
	// rebuilt are the origins of objects from before the start. It is empty without
	// Options.Rebuild.
	rebuilt map[*change.Timeline]*rebuild
	// relatives are the newest reconciliations of objects with relations by name.
	relatives map[relative]*change.Reconciliation
}

// NewFinder returns a Finder over v.
func NewFinder(v View, o Options) *Finder {
	return &Finder{
		View: v, options: o,
		Lines:     map[trace.TraceID]*change.Lineage{},
		roles:     map[types.UID]map[string][]*change.Timeline{},
		censuses:  map[types.UID]Census{},
		slotsOf:   map[types.UID]map[types.UID]int{},
		departed:  map[types.UID][]*departure{},
		relatives: map[relative]*change.Reconciliation{},
	}
}
