// SPDX-License-Identifier: Apache-2.0

// Package object defines an object of a cluster: its kind, its identity and its owners. The UID is
// the identity. A new object with the name of a deleted one is another object.
package object

import "k8s.io/apimachinery/pkg/types"

// Kind is an API group, version and kind.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"`
}

// Is reports whether k is the named kind of the named group, in any version.
func (k Kind) Is(group, kind string) bool { return k.Kind == kind && k.Group == group }

// String returns the kind in kubectl's form: "Deployment.apps", "Pod".
func (k Kind) String() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// Ref identifies one object of one cluster. Namespace is empty for cluster-scoped objects. UID is
// empty only if the source has none.
type Ref struct {
	Kind
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// String returns the form "Deployment.apps default/web".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind.String() + " " + r.Name
	}
	return r.Kind.String() + " " + r.Namespace + "/" + r.Name
}

// Owner is one ownerReference: the referenced owner, and whether it is the controller.
type Owner struct {
	Kind
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Controller bool      `json:"controller,omitempty"`
}

// ControllerOf returns the owner that is the controller, or nil.
func ControllerOf(owners []Owner) *Owner {
	for i := range owners {
		if owners[i].Controller {
			return &owners[i]
		}
	}
	return nil
}

// DefaultScheduler is the scheduler of a Pod that names none.
const DefaultScheduler = "default-scheduler"
