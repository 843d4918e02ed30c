// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Subject identifies the object of a request: by UID, or by kind and name. For a refused creation
// it is the UID of the owner.
type Subject struct {
	UID, Owner                   types.UID
	Group, Kind, Namespace, Name string
}

// CompareSubjects orders subjects.
func CompareSubjects(a, b Subject) int {
	return cmp.Or(
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.Owner, b.Owner),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// Identify returns the subject of the request.
func Identify(w *observation.Write) Subject {
	switch {
	case w.UID != "":
		return Subject{UID: w.UID}
	case w.Controller != "":
		return Subject{Owner: w.Controller}
	}
	return NameOf(w)
}

// NameOf returns the subject of the request without its UID.
func NameOf(w *observation.Write) Subject {
	return Subject{Group: w.Group, Kind: w.Kind.Kind, Namespace: w.Namespace, Name: w.Name}
}

// SubjectOf returns the subject of a request that names the object without its UID.
func SubjectOf(t *change.Timeline) Subject {
	return Subject{Group: t.Ref.Group, Kind: t.Ref.Kind.Kind, Namespace: t.Ref.Namespace, Name: t.Ref.Name}
}
