// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"slices"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// conventions are the conventions for a context on an object.
var conventions = lifeline.Conventions()

// annotated holds the annotations that the library may read.
type annotated map[string]string

// GetAnnotations implements lifeline.Annotated.
func (a annotated) GetAnnotations() map[string]string { return a }

// carried returns the annotations that belong to a convention. It omits all others, however many or
// long they are.
func carried(annotations fields) annotated {
	var out annotated
	for key, value := range annotations {
		text, ok := value.(string)
		if !ok || !slices.ContainsFunc(conventions, func(c lifeline.Convention) bool { return c.Owns(key) }) {
			continue
		}
		if out == nil {
			out = annotated{}
		}
		out[key] = text
	}
	return out
}

// carry records the object's trace context if it is valid. The library bounds its size.
func carry(s *observation.State, from lifeline.Annotated, generateName string) {
	sc, convention := lifeline.Find(from)
	if !sc.IsValid() {
		return
	}
	s.TraceParent = "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
	s.TraceState = sc.TraceState().String()
	s.TraceConvention = convention.String()
	s.GenerateName = object.Bound(generateName)
}
