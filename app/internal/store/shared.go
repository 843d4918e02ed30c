// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Stored is a Reader of stored data, which it returns as stored. So within a scope that does not permit everything it
// has two kinds of traces:
//
//   - Those that the scope permits as a whole (Scope.PermitsTrace). They are what List, Density, Writes, Find, Group,
//     Services, Operations, Search and Stats answer from.
//   - Those that it permits in part. Shared has their IDs; what of them is visible is the caller's work.
//
// Trace, Between and Causes have the traces of both kinds (Scope.PermitsPart). Trace returns all of a trace. Causes
// returns all edges of the trace, and all that lead to it from a trace of either kind.
//
// Facts of Nodes are part of the entries of Pods: see question.Field.
type Stored interface {
	Reader
	// Shared returns the traces that a scope permits in part, the latest AsOf first.
	Shared(ctx context.Context, q SharedQuery) ([]Shared, error)
	// Namespaces returns the namespaces with lifecycles, sorted; "" stands for objects without one.
	Namespaces(ctx context.Context) ([]string, error)
}

// SharedQuery selects traces that a scope permits in part.
type SharedQuery struct {
	Scope Scope
	// Since is a lower bound of AsOf. Until is an upper bound of the start. Zero bounds nothing.
	Since, Until time.Time
	// IDs is as in Query.
	IDs []trace.TraceID
	// Object selects traces with an object of that name and UID, which the scope may hide. The rest of it does not
	// count, nor does an object without both.
	Object object.Ref
	// Limit bounds the traces.
	Limit int
}

// Shared is a version of a trace that a scope permits in part.
type Shared struct {
	ID trace.TraceID
	// AsOf and Revision are those of the version's batch. Spans counts all spans, with amendments: the spans of a
	// trace with the same three numbers are the same.
	AsOf            time.Time
	Revision, Spans int64
}

// GuardedKinds are the usual kinds of Scope.Without. A scope with other ones takes longer.
func GuardedKinds() []object.Kind {
	const rbac = "rbac.authorization.k8s.io"
	return []object.Kind{
		kind.Secret.Kind, {Version: "v1", Kind: "ServiceAccount"},
		{Group: rbac, Version: "v1", Kind: "Role"}, {Group: rbac, Version: "v1", Kind: "RoleBinding"},
		{Group: rbac, Version: "v1", Kind: "ClusterRole"}, {Group: rbac, Version: "v1", Kind: "ClusterRoleBinding"},
	}
}

// usual are the guards of all objects of GuardedKinds.
var usual = func() (out []Guarded) {
	for _, k := range GuardedKinds() {
		out = append(out, Guarded{Group: k.Group, Kind: k.Kind})
	}
	return out
}()

// Usual reports whether all kinds of Without are GuardedKinds.
func (s Scope) Usual() bool {
	return !slices.ContainsFunc(s.Without, func(g Guarded) bool {
		return !slices.ContainsFunc(usual, func(u Guarded) bool { return u.Group == g.Group && u.Kind == g.Kind })
	})
}

// Sole returns the namespace of a trace that each scope with Usual permits by that namespace alone, as a whole or not
// at all: all objects that it has or mentions are in that namespace, and none is a Namespace or of GuardedKinds.
func Sole(t *span.Trace) (namespace string, is bool) {
	some := false
	fits := func(o object.Ref) bool {
		if kind.Namespace.Is(o.Kind) || slices.ContainsFunc(usual, func(g Guarded) bool { return g.hides(o) }) ||
			some && o.Namespace != namespace {
			return false
		}
		namespace, some = o.Namespace, true
		return true
	}
	for o := range Objects(t) {
		if !fits(o) {
			return "", false
		}
	}
	for _, o := range rights.Mentioned(t) {
		if !fits(o) {
			return "", false
		}
	}
	return namespace, true
}

// WithheldError is the error of a question that uses a fact of Nodes, which its scope hides.
type WithheldError struct{ Field string }

// Error says which field.
func (e *WithheldError) Error() string {
	return "the field " + e.Field + " comes from Nodes, which you may not see: leave it out"
}
