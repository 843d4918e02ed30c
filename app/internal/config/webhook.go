// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
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
	// The listener for the API server's calls, at the path `/admission`; without an address the
	// webhook is off. The API server calls by TLS only. A listener without TLS needs a proxy with
	// TLS on the same machine. Every server of an installation responds, leader or not. `lifeline
	// webhook install` registers the webhook with the API server. `lifeline webhook serve` serves
	// only the webhook, without a store or a connection to the cluster; it uses the sections
	// `webhook`, `telemetry`, `log` and `sampling` of this file.
	Endpoint EndpointConfiguration `json:"endpoint"`

	// The certificate of `endpoint`, if the server manages it itself.
	Certificate CertificateConfiguration `json:"certificate"`

	// The convention for contexts on objects: `default` (`trace.kubernetes.io/context`),
	// `kep-5915`, `azure-operatortrace`, `tekton-taskrun`, `tekton-pipelinerun`, `agent-sandbox` or
	// `w3c`. Use that of the operators in the cluster: the webhook does not find contexts of
	// another convention.
	Convention string `json:"convention"`

	// Who may choose the trace of a write, by a context on the object or with the request:
	// `anyone`, `groups` (those in `supplierGroups`) or `nobody`. Contexts of other users are
	// replaced, counted and logged. The components of Kubernetes itself, including all ServiceAccounts
	// in kube-system, are always allowed, because they copy admitted contexts.
	Suppliers string `json:"suppliers"`

	// The user groups that are allowed if `suppliers` is `groups`, such as `system:masters` or
	// `system:serviceaccounts:ci`. Add those of operators that copy annotations to other objects.
	// Otherwise each of their writes is changed, and they repeat it endlessly.
	SupplierGroups []string `json:"supplierGroups"`
}

// CertificateConfiguration is the section `webhook.certificate`.
type CertificateConfiguration struct {
	// Whether the server creates the certificate, instead of `endpoint.tls`. It keeps the
	// certificate in a Secret, renews it without a restart, and writes it into the configuration
	// from `lifeline webhook install`. `lifeline rbac --config` prints the required rights.
	// `lifeline webhook serve` cannot do this, because it has no connection to the cluster.
	Managed bool `json:"managed"`

	// The name of the Secret in the server's namespace. The server creates it if it does not exist.
	// All servers of an installation share it.
	Name string `json:"name"`

	// The DNS names and IP addresses that the API server calls, at most 20. Empty means the Service
	// `lifeline-webhook` in the server's namespace.
	Names []string `json:"names"`

	// The name of the MutatingWebhookConfiguration.
	Configuration string `json:"configuration"`
}

// maxNames limits the names of a certificate.
const maxNames = 20

func (v *validator) certificate(path *field.Path, c CertificateConfiguration, e EndpointConfiguration) {
	if !c.Managed {
		return
	}
	for _, f := range []struct{ name, value string }{{"name", c.Name}, {"configuration", c.Configuration}} {
		if len(validation.IsDNS1123Subdomain(f.value)) > 0 {
			v.invalid(path.Child(f.name), f.value, "must be the name of an object")
		}
	}
	names := path.Child("names")
	if len(c.Names) > maxNames {
		v.invalid(names, len(c.Names), fmt.Sprintf("must be %d at most", maxNames))
	}
	v.each(names, c.Names, func(at *field.Path, name string) {
		if net.ParseIP(name) == nil && len(validation.IsDNS1123Subdomain(name)) > 0 {
			v.invalid(at, name, "must be a DNS name or an IP address")
		}
	})
	switch {
	case e.Address == "":
		v.wrong = append(v.wrong,
			field.Required(field.NewPath("webhook", "endpoint", "address"),
				"must be set if webhook.certificate is managed"))
	case e.TLS != (TLSConfiguration{}):
		v.wrong = append(v.wrong,
			field.Forbidden(field.NewPath("webhook", "endpoint", "tls"),
				"must be left out if webhook.certificate is managed"))
	}
}

// Supplies reports whether a user in those groups may supply a context. The configuration must be
// valid.
func (w WebhookConfiguration) Supplies(groups []string) bool {
	switch w.Suppliers {
	case SuppliersAnyone:
		return true
	case SuppliersGroups:
		return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(w.SupplierGroups, g) })
	}
	return false
}

// ContextConvention returns the configured Convention. The configuration must be valid.
func (w WebhookConfiguration) ContextConvention() lifeline.Convention {
	for _, c := range suppliable() {
		if c.String() == w.Convention {
			return c
		}
	}
	return lifeline.Default
}

// suppliable are the conventions that can supply a context: those with room for a claim. Without a
// claim, the next write could not distinguish it from another's context. Jaeger's convention has no
// room.
func suppliable() []lifeline.Convention {
	return slices.DeleteFunc(lifeline.Conventions(), func(c lifeline.Convention) bool { return c == lifeline.Jaeger })
}

// maxGroup limits the name of a group, in bytes.
const maxGroup = 1024

func (v *validator) webhook(path *field.Path, c WebhookConfiguration) {
	shown := c.Endpoint
	shown.Insecure = shown.Insecure || c.Certificate.Managed // a managed certificate means TLS
	v.receiver(path.Child("endpoint"), shown)
	if c.Endpoint.TokenFile != "" {
		v.wrong = append(v.wrong,
			field.Forbidden(path.Child("endpoint", "tokenFile"),
				"must be left out: only receivers use a token; set tls.clientCAFile to admit only the API server"))
	}
	v.certificate(path.Child("certificate"), c.Certificate, c.Endpoint)
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
