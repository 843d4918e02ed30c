// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Body is what a body says of the objects in it: of one object, of those of a
// list or a Table that have a name (Items), or a Status.
type Body struct {
	APIVersion string
	Kind       string
	Metadata   Metadata
	Items      []Body
	// Reason, Message and Details are those of a Status: in other kinds these
	// names mean other things.
	Reason  string
	Message string
	Details *Details
	// Causes are those of the Details, at most maxCauses.
	Causes []message.Cause
	// Dry: the options of a deletion, which this is, or which an Eviction
	// holds, ask for a dry run.
	Dry bool
}

// Refusal returns why a Status refuses a request for the resource: its reason, and
// the harmless part of its message. Both are bounded.
func (b *Body) Refusal(resource string) (reason, sentence string) {
	s := message.Status{Resource: resource, Message: b.Message, Causes: b.Causes}
	if b.Details != nil {
		s.Kind = b.Details.Kind
	}
	return message.Reason(b.Reason), message.Refusal(s)
}

// Metadata is the part of an object's, or a list's, metadata that is read.
type Metadata struct {
	Name            string
	GenerateName    string
	Namespace       string
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Deleting: it has a deletionTimestamp; GraceSeconds is
	// deletionGracePeriodSeconds, and Finalizers how many there are.
	Deleting     bool
	GraceSeconds int64
	Finalizers   int
	// Controller is the owner that is the controller, or nil.
	Controller *object.Owner
}

// Details names what a Status is about.
type Details struct {
	Name  string
	Group string
	Kind  string
	UID   types.UID
}

// Version gives the resourceVersion as a number; 0 if it is none.
func (m *Metadata) Version() uint64 {
	return Version(m.ResourceVersion)
}

// Version gives a resourceVersion as a number; 0 if it is none.
func Version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0 // also of one that does not fit
	}
	return n
}

// Remains reports whether an object that is being deleted is still stored.
func (m *Metadata) Remains() bool {
	return m.Deleting && (m.Finalizers > 0 || m.GraceSeconds > 0)
}

// Objects gives the single objects in the body.
func (b *Body) Objects() []Body {
	switch {
	case len(b.Items) > 0:
		return b.Items
	case b.Kind == "Status" || b.IsList() || b.Metadata.Name == "":
		return nil
	}
	return []Body{*b}
}

// IsList reports whether the body is a list or a Table.
func (b *Body) IsList() bool {
	return b.Kind == "Table" || b.Metadata.Name == "" && strings.HasSuffix(b.Kind, "List")
}
