// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// All reports whether the scope permits everything.
func (s Scope) All() bool { return s.Clusters == nil && s.Namespaces == nil && len(s.Except) == 0 }

// In returns the scope within one cluster, without Clusters. The result is false if it does not permit
// that cluster.
func (s Scope) In(cluster string) (Scope, bool) {
	permitted := s.Clusters == nil || slices.Contains(s.Clusters, cluster)
	return Scope{Namespaces: s.Namespaces, Except: s.Except}, permitted
}

// PermitsNamespace reports whether the scope permits the objects of a namespace, "" for objects
// without one.
func (s Scope) PermitsNamespace(namespace string) bool {
	return s.Namespaces == nil || slices.Contains(s.Namespaces, namespace)
}

// PermitsTrace reports whether the scope permits a trace of a permitted cluster: all of its objects. A
// trace without objects needs the namespace "".
func (s Scope) PermitsTrace(t *span.Trace) bool {
	if slices.Contains(s.Except, t.ID) {
		return false
	}
	if s.Namespaces == nil {
		return true
	}
	some := false
	for o := range Objects(t) {
		if some = true; !s.PermitsNamespace(o.Namespace) {
			return false
		}
	}
	return some || s.PermitsNamespace("")
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
