// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Body has the used content of a body: one object, the named objects of a list or Table (Items), or
// a Status.
type Body struct {
	APIVersion string
	Kind       string
	Metadata   Metadata
	Items      []Body
	// Reason, Message and Details are set only for a Status. In other kinds these fields have other
	// meanings.
	Reason  string
	Message string
	Details *Details
	// Causes are the causes in the Details, at most maxCauses.
	Causes []message.Cause
	// Dry means that DeleteOptions, alone or in an Eviction, request a dry run.
	Dry bool
}

// Metadata has the used metadata of an object or a list.
type Metadata struct {
	Name            string
	GenerateName    string
	Namespace       string
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Deleting means that there is a deletionTimestamp. GraceSeconds is deletionGracePeriodSeconds.
	// Finalizers is the number of finalizers. A Namespace has more of them in its spec.
	Deleting     bool
	GraceSeconds int64
	Finalizers   int
	// Controller is the owner with controller: true, or nil.
	Controller *object.Owner
}

// Details identifies the object of a Status.
type Details struct {
	Name  string
	Group string
	Kind  string
	UID   types.UID
}

// Version returns the resourceVersion as a number; 0 if it is not one.
func (m *Metadata) Version() uint64 {
	return Version(m.ResourceVersion)
}

// Version returns a resourceVersion as a number; 0 if it is not one.
func Version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0 // also if the number is too large
	}
	return n
}

// Remains reports whether an object that is being deleted is still stored.
func (m *Metadata) Remains() bool {
	return m.Deleting && (m.Finalizers > 0 || m.GraceSeconds > 0)
}

// Objects returns the single objects in the body.
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
