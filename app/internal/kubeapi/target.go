// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// target is what the path of a request names.
type target struct {
	// visible stands for visiblechanges in place of changes.
	visible bool
	// namespace is empty for all namespaces.
	namespace string
	// name is empty for the list. rest has the parts after the name.
	name string
	rest []string
}

// targetOf reads a path below Root, and reports whether it names a resource.
func targetOf(path string) (target, bool) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, Root), "/"), "/")
	var t target
	if len(parts) > 2 && parts[0] == "namespaces" && parts[1] != "" && parts[2] == Resource {
		t.namespace, parts = parts[1], parts[2:]
	}
	switch t.visible = parts[0] == VisibleResource; {
	case !t.visible && parts[0] != Resource, t.visible && t.namespace != "":
		return t, false
	}
	if len(parts) > 1 {
		t.name, t.rest = parts[1], parts[2:]
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return t, false
		}
	}
	return t, true
}

func (t target) resource() string {
	if t.visible {
		return VisibleResource
	}
	return Resource
}

func (t target) kind() string {
	if t.visible {
		return visibleKind
	}
	return kind
}

// namespaceOf returns the namespace of the object of a change. A list of all namespaces names each change once, in
// the namespace of the changed object.
func (t target) namespaceOf(s *api.Summary) string {
	switch {
	case t.visible:
		return "" // the resource has no namespaces
	case t.namespace != "":
		return t.namespace
	}
	return namespaceOf(s)
}

func namespaceOf(s *api.Summary) string {
	if s.Object == nil {
		return ""
	}
	return s.Object.Namespace
}
