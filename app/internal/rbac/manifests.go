// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// AggregateLabel marks, with the value "true", a ClusterRole whose rules are added to those of
// every server that watches a whole cluster.
const AggregateLabel = "rbac.lifeline.dev/aggregate-to-lifeline"

// Options configure the manifests.
type Options struct {
	// Config is the server's configuration; it must be valid.
	Config *config.ServerConfiguration
	// Offered are the API server's resources, such as [BuiltIn].
	Offered []watch.Offered
	// Namespace is that of the server's ServiceAccount. Name is the ServiceAccount's name and the
	// prefix of all names. Both are DNS labels.
	Namespace, Name string
}

// longestName leaves room for the suffixes of Options.Name.
const longestName = 63 - len("-"+certificate)

// Parts of names.
const (
	identity = "identity"
	leases   = "leases"
	extra    = "extra"

	certificate = "certificate"

	callers    = "callers"
	shared     = "api"
	frontProxy = "front-proxy"
)

// Write writes the manifests as YAML for kubectl, the same bytes for the same options. It omits
// resources with invalid names.
func Write(w io.Writer, o Options) error {
	for what, value := range map[string]string{"name": o.Name, "namespace": o.Namespace} {
		if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
			return fmt.Errorf("cannot make manifests with the %s %q: it must be a DNS label, small letters, digits "+
				"and '-'", what, value)
		}
	}
	if len(o.Name) > longestName {
		return fmt.Errorf("cannot make manifests with the name %q: it must not be longer than %d characters", o.Name,
			longestName)
	}
	p := &printer{account: account{o.Name, o.Namespace}}
	p.head(o)
	p.serviceAccount()
	watched := o.watched()
	if namespaces := o.Config.Watch.Namespaces; len(namespaces) > 0 {
		p.namespaces(namespaces, watched)
	} else {
		p.cluster(watched)
	}
	if rules := leaseRules(o.Config.Replicas); rules != nil {
		p.role(named{leases, cmp.Or(o.Config.Replicas.Namespace, o.Namespace)},
			"The Leases by which servers share the work.", rules)
	}
	if c := o.Config.Webhook.Certificate; c.Managed {
		p.role(named{certificate, o.Namespace}, "The certificate of the admission webhook, which servers share.",
			secretRules(c))
		p.role(named{certificate, ""}, "The registration of the admission webhook.", registrationRules(c))
	}
	p.callers(o)
	_, err := io.WriteString(w, p.b.String())
	if err != nil {
		return fmt.Errorf("cannot write the manifests: %w", err)
	}
	return nil
}

// watched are the resources that the server watches under its configuration.
func (o Options) watched() []watch.Offered {
	var out []watch.Offered
	for _, r := range watch.Select(o.Offered, o.Config.Watch.Excluded(), o.Config.Declared().Kinds()) {
		if len(o.Config.Watch.Namespaces) > 0 && !r.Namespaced || !isResource(r) {
			continue
		}
		out = append(out, r)
	}
	return out
}

// isResource excludes invalid names: the name `*` would be a wildcard.
func isResource(r watch.Offered) bool {
	return len(validation.IsDNS1123Label(r.Resource)) == 0 &&
		(r.Group == "" || len(validation.IsDNS1123Subdomain(r.Group)) == 0)
}

func (p *printer) head(o Options) {
	exception := "It reads no Secret."
	switch {
	case o.Config.Watch.SecretMetadata && o.Config.Webhook.Certificate.Managed:
		exception = "It may read all Secrets, and reads only their metadata, except for its own certificate."
	case o.Config.Watch.SecretMetadata:
		exception = "It may read all Secrets, and reads only their metadata."
	case o.Config.Webhook.Certificate.Managed:
		exception = "It reads and writes one Secret, that of its own certificate."
	case o.Config.API.Aggregation.Secret != "":
		exception = "It reads one Secret, that of its certificate behind the API server."
	}
	if o.Config.API.Aggregation.Secret != "" && o.Config.Webhook.Certificate.Managed && !o.Config.Watch.SecretMetadata {
		exception += " It reads one more, that of its certificate behind the API server."
	}
	p.comment("", "The rights of lifeline serve, printed by lifeline rbac: to read what it watches. "+exception)
	if len(o.Config.Watch.Namespaces) == 0 {
		p.comment("", "For kinds defined later: run the command again, or label a ClusterRole for them with "+
			AggregateLabel+`: "true".`)
	} else {
		p.comment("", "Only in namespaces: "+strings.Join(o.Config.Watch.Namespaces, ", ")+
			". The server does not see the labels of Nodes.")
		p.comment(
			"",
			"It finds kinds defined later within minutes, but reads them only after you run the command again.",
		)
	}
}

func (p *printer) cluster(watched []watch.Offered) {
	all := rules(watched)
	if !readsNamespaces(all) {
		all = append([]rule{identityRule()}, all...)
	}
	p.role(named{}, "What is watched.", all)
	p.aggregate()
}

func (p *printer) namespaces(namespaces []string, watched []watch.Offered) {
	for _, namespace := range namespaces {
		p.role(named{"", namespace}, "What is watched in namespace "+namespace+".", rules(watched))
	}
	p.role(named{identity, "kube-system"}, "Which cluster it is.", []rule{identityRule()})
}
