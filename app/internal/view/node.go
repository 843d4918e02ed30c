// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Facts of a Node are in the archive's lifecycles of Pods. Within a scope without Nodes they are left out, and no
// question may use them.

// hidesNodes reports whether the scope hides Nodes.
func (r *reading) hidesNodes() bool { return !r.scope.Permits(object.Ref{Kind: kind.Node.Kind}) }

// user is an expression of a question.
type user interface{ Uses(field string) bool }

// withheld returns a store.WithheldError if an expression uses a fact of hidden Nodes. An expression may be nil.
func (r *reading) withheld(expressions ...user) error {
	if !r.hidesNodes() {
		return nil
	}
	for _, f := range question.Fields() {
		for _, e := range expressions {
			if f.OfNode && uses(e, f.Name) {
				return &store.WithheldError{Field: f.Name}
			}
		}
	}
	return nil
}

// uses reports whether an expression uses a field.
func uses(e user, field string) bool {
	switch e := e.(type) {
	case *question.Question:
		return e != nil && e.Uses(field)
	case *question.Number:
		return e != nil && e.Uses(field)
	case *question.Length:
		return e != nil && e.Uses(field)
	}
	return e.Uses(field)
}

// withoutNode removes the facts of a Node from a lifecycle.
func withoutNode(l *store.Lifecycle) {
	for _, f := range question.Fields() {
		if f.OfNode {
			delete(l.Values, f.Name)
		}
	}
}
