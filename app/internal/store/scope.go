// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Scope is what one caller may see. The zero value is everything. It decides about objects: see Permits.
type Scope struct {
	// Clusters and Namespaces are the permitted ones; nil permits all. Objects without a namespace
	// need the namespace "".
	Clusters, Namespaces []string
	// Without are kinds whose objects are hidden, also in a permitted namespace.
	Without []Guarded
	// Except are traces that are not permitted in any case.
	Except []trace.TraceID
}

// Guarded is a kind whose objects need a right of their own.
type Guarded struct {
	Group, Kind string
	// Except are the namespaces with that right; nil means none.
	Except []string
}

// hides reports whether the guard hides an object. The object of a write may have lost its group: a kind of any
// group counts then.
func (g Guarded) hides(o object.Ref) bool {
	return o.Kind.Kind == g.Kind && (o.Group == g.Group || o.Group == "") && !slices.Contains(g.Except, o.Namespace)
}

// All reports whether the scope permits everything.
func (s Scope) All() bool {
	return s.Clusters == nil && s.Namespaces == nil && len(s.Without) == 0 && len(s.Except) == 0
}

// In returns the scope within one cluster, without Clusters. The result is false if it does not permit
// that cluster.
func (s Scope) In(cluster string) (Scope, bool) {
	permitted := s.Clusters == nil || slices.Contains(s.Clusters, cluster)
	s.Clusters = nil
	return s, permitted
}

// Permits reports whether the scope permits an object of a permitted cluster. A Namespace is one of its own objects,
// as for the API server. The zero Ref stands for work without an object.
func (s Scope) Permits(o object.Ref) bool {
	permitted := s.PermitsNamespace(o.Namespace) || kind.Namespace.Is(o.Kind) && s.PermitsNamespace(o.Name)
	return permitted && !slices.ContainsFunc(s.Without, func(g Guarded) bool { return g.hides(o) })
}

// PermitsNamespace reports whether the scope permits the objects of a namespace, "" for objects
// without one.
func (s Scope) PermitsNamespace(namespace string) bool {
	return s.Namespaces == nil || slices.Contains(s.Namespaces, namespace)
}

// PermitsTrace reports whether the scope permits all of a trace of a permitted cluster: all of its objects. A trace
// without objects needs the namespace "". Of a trace whose texts mention other objects, only one with a Sole namespace
// is permitted as a whole.
func (s Scope) PermitsTrace(t *span.Trace) bool {
	if slices.Contains(s.Except, t.ID) {
		return false
	}
	if s.Namespaces == nil && len(s.Without) == 0 {
		return true
	}
	if namespace, is := Sole(t); is && s.Usual() {
		return s.PermitsNamespace(namespace)
	}
	some := false
	for o := range Objects(t) {
		if some = true; !s.Permits(o) {
			return false
		}
	}
	return (some || s.PermitsNamespace("")) && len(rights.Mentioned(t)) == 0
}

// PermitsPart reports whether the scope permits an object of a trace of a permitted cluster. A trace without objects
// needs the namespace "".
func (s Scope) PermitsPart(t *span.Trace) bool {
	some := false
	for o := range Objects(t) {
		if some = true; s.Permits(o) {
			return true
		}
	}
	return !some && s.PermitsNamespace("")
}

// Key identifies what the scope permits within one cluster, apart from Except.
func (s Scope) Key() string {
	if s.Namespaces == nil && len(s.Without) == 0 {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %q %q", s.Namespaces == nil, s.Namespaces, s.Without))
	return string(sum[:]) // short also for very many namespaces
}

// Objects yields the objects of a trace: those of its spans and those of their writes. It may repeat
// an object.
func Objects(t *span.Trace) iter.Seq[object.Ref] {
	return func(yield func(object.Ref) bool) {
		for _, s := range t.Spans {
			if s.Object != (object.Ref{}) && !yield(s.Object) {
				return
			}
			for _, w := range WritesOf(s) {
				if w.Object != s.Object && w.Object != (object.Ref{}) && !yield(w.Object) {
					return
				}
			}
		}
	}
}
