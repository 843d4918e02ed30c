// SPDX-License-Identifier: Apache-2.0

package rbac

import "github.com/kube-lifeline/lifeline/app/internal/config"

// secretRules are the rules for the Secret with the webhook's shared certificate.
func secretRules(c config.CertificateConfiguration) []rule {
	secrets := func(why string, names []string, verbs ...string) rule {
		return rule{why: why, groups: []string{""}, resources: []string{"secrets"}, names: names, verbs: verbs}
	}
	return []rule{
		secrets("RBAC cannot limit the creation of Secrets by name. This rule allows no reading.", nil, "create"),
		secrets("The one Secret of the webhook's certificate.", []string{c.Name}, "get", "update"),
	}
}

// registrationRules are the rules to write the certificate into the webhook's configuration.
func registrationRules(c config.CertificateConfiguration) []rule {
	return []rule{{
		why:    "Which certificate is right is written into this one; RBAC cannot grant less than the whole of it.",
		groups: []string{"admissionregistration.k8s.io"}, resources: []string{"mutatingwebhookconfigurations"},
		names: []string{c.Configuration},
		verbs: []string{"get", "patch"},
	}}
}
