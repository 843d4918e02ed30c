// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"strings"
)

// Author is the author of a write (rules A). Each part may be empty.
type Author struct {
	// User and Impersonator are the users from the audit log.
	User, Impersonator string
	// Component is the best known component, and Manager is that of the field manager.
	Component, Manager string
}

// Known reports whether the author is known.
func (a Author) Known() bool { return a.User != "" || a.Component != "" }

// Is reports whether a and b may be the same author. Two users are two authors, and so are two
// components of one system user. If the user of either is unknown, one common component is enough.
func (a Author) Is(b Author) bool {
	switch {
	case a.User == "" || b.User == "":
		return a.Component == b.Component || a.Manager != "" && a.Manager == b.Manager
	case a.User != b.User || a.Impersonator != b.Impersonator:
		return false
	}
	return !a.system() || a.Component == b.Component
}

// system reports whether the user is a part of the cluster, such as a service account.
func (a Author) system() bool { return strings.HasPrefix(a.User, "system:") }

// String returns the name of a person, or else of the component.
func (a Author) String() string {
	if a.User != "" && !a.system() {
		return a.User
	}
	return cmp.Or(a.Component, a.User)
}
