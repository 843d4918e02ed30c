// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-lifeline/lifeline"
)

// The values of WebhookConfiguration.Suppliers.
const (
	SuppliersAnyone = "anyone"
	SuppliersGroups = "groups"
	SuppliersNobody = "nobody"
)

// WebhookConfiguration is the section `webhook`.
type WebhookConfiguration struct {
	// Where the API server's calls are answered, at the path `/admission`; without an address they are not. The API server calls by TLS only.
	// Every server of an installation answers, whether it leads or not. `lifeline webhook install` has the API server call. `lifeline webhook
	// serve` answers alone, without a store or a connection to the cluster; of this file it uses `webhook`, `telemetry`, `log` and `sampling`.
	Endpoint EndpointConfiguration `json:"endpoint"`

	// By which convention contexts are put on objects: `default` (`trace.kubernetes.io/context`), `kep-5915`, `azure-operatortrace`,
	// `tekton-taskrun`, `tekton-pipelinerun`, `agent-sandbox` or `w3c`. Use that of the operators in the cluster, for what they supply by
	// another is not found here.
	Convention string `json:"convention"`

	// Who may say to which trace a write belongs, by a context on the object or with the request: `anyone`, `groups` (those of
	// `supplierGroups`) or `nobody`. What anybody else says is replaced, counted and logged. The components of Kubernetes itself always may,
	// for they copy what others were admitted with.
	Suppliers string `json:"suppliers"`

	// The groups of users whose members may if `suppliers` is `groups`, such as `system:masters` or `system:serviceaccounts:ci`. Name those of
	// operators that copy annotations to other objects, too: they would write again and again what is replaced each time.
	SupplierGroups []string `json:"supplierGroups"`
}

// Supplies reports whether a user who is in those groups may supply a context. The
// configuration must be valid.
func (w WebhookConfiguration) Supplies(groups []string) bool {
	switch w.Suppliers {
	case SuppliersAnyone:
		return true
	case SuppliersGroups:
		return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(w.SupplierGroups, g) })
	}
	return false
}

// ContextConvention is the one that Convention names. The configuration must be valid.
func (w WebhookConfiguration) ContextConvention() lifeline.Convention {
	for _, c := range suppliable() {
		if c.String() == w.Convention {
			return c
		}
	}
	return lifeline.Default
}

// suppliable are the conventions by which a context can be supplied: those that
// have a place for what it was made for, without which it could not be told from
// another's the next time. Jaeger's has none.
func suppliable() []lifeline.Convention {
	return slices.DeleteFunc(lifeline.Conventions(), func(c lifeline.Convention) bool { return c == lifeline.Jaeger })
}

// maxGroup is how long the name of a group may be, in bytes.
const maxGroup = 1024

func (v *validator) webhook(path *field.Path, c WebhookConfiguration) {
	v.receiver(path.Child("endpoint"), c.Endpoint)
	var names []string
	for _, known := range suppliable() {
		names = append(names, known.String())
	}
	v.oneOf(path.Child("convention"), c.Convention, names...)
	v.oneOf(path.Child("suppliers"), c.Suppliers, SuppliersAnyone, SuppliersGroups, SuppliersNobody)
	groups := path.Child("supplierGroups")
	switch {
	case c.Suppliers == SuppliersGroups && len(c.SupplierGroups) == 0:
		v.wrong = append(v.wrong, field.Required(groups, "must name a group if webhook.suppliers is groups"))
	case c.Suppliers != SuppliersGroups && len(c.SupplierGroups) > 0:
		v.wrong = append(v.wrong, field.Forbidden(groups, "must be left out unless webhook.suppliers is groups"))
	}
	v.each(groups, c.SupplierGroups, func(at *field.Path, name string) {
		if name == "" || len(name) > maxGroup || strings.TrimSpace(name) != name {
			v.invalid(at, name, "must be the name of a group, such as system:masters")
		}
	})
}
