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
	// Where the API server's calls are answered, at the path `/admission`; without an address they
	// are not. The API server calls by TLS only. Every server of an installation answers, whether
	// it leads or not. `lifeline webhook install` has the API server call. `lifeline webhook serve`
	// answers alone, without a store or a connection to the cluster; of this file it uses
	// `webhook`, `telemetry`, `log` and `sampling`.
	Endpoint EndpointConfiguration `json:"endpoint"`

	// The certificate of `endpoint`, if the server manages it itself.
	Certificate CertificateConfiguration `json:"certificate"`

	// By which convention contexts are put on objects: `default` (`trace.kubernetes.io/context`),
	// `kep-5915`, `azure-operatortrace`, `tekton-taskrun`, `tekton-pipelinerun`, `agent-sandbox` or
	// `w3c`. Use that of the operators in the cluster, for what they supply by another is not found
	// here.
	Convention string `json:"convention"`

	// Who may say to which trace a write belongs, by a context on the object or with the request:
	// `anyone`, `groups` (those of `supplierGroups`) or `nobody`. What anybody else says is
	// replaced, counted and logged. The components of Kubernetes itself always may, for they copy
	// what others were admitted with.
	Suppliers string `json:"suppliers"`

	// The groups of users whose members may if `suppliers` is `groups`, such as `system:masters` or
	// `system:serviceaccounts:ci`. Name those of operators that copy annotations to other objects,
	// too: they would write again and again what is replaced each time.
	SupplierGroups []string `json:"supplierGroups"`
}

// CertificateConfiguration is the section `webhook.certificate`.
type CertificateConfiguration struct {
	// Whether the server makes the certificate, in place of `endpoint.tls`: it keeps it in a
	// Secret, renews it without a restart, and writes it into the configuration that `lifeline
	// webhook install` has made. It takes rights, which `lifeline rbac --config` prints. `lifeline
	// webhook serve` has no connection to the cluster, and cannot.
	Managed bool `json:"managed"`

	// The name of the Secret in the server's namespace. It is made if it is not there, and shared
	// by the servers of an installation.
	Name string `json:"name"`

	// The DNS names and IP addresses by which the API server calls. None means Service
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
	shown.Insecure = shown.Insecure || c.Certificate.Managed // it is not plaintext
	v.receiver(path.Child("endpoint"), shown)
	if c.Endpoint.TokenFile != "" {
		v.wrong = append(v.wrong,
			field.Forbidden(path.Child("endpoint", "tokenFile"),
				"must be left out: only receivers ask for a token; let tls.clientCAFile keep others out"))
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
