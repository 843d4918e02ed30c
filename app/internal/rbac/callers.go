// SPDX-License-Identifier: Apache-2.0

package rbac

import "github.com/kube-lifeline/lifeline/app/internal/config"

// callers writes the rights to learn who a caller is, and what the cluster lets them see.
func (p *printer) callers(o Options) {
	c := o.Config.API
	if c.Authorization != config.AuthorizationKubernetes {
		return
	}
	p.role(named{callers, ""}, "Who a caller is, and what the cluster lets them see. The answers grant nothing.",
		callerRules())
	if name := c.Aggregation.Secret; name != "" {
		p.role(named{shared, o.Namespace}, "The certificate behind the API server, which lifeline discovery makes.",
			sharedRules(name))
	}
	if c.Aggregation.FrontProxy {
		p.role(named{frontProxy, "kube-system"}, "How the API server proves that a request comes from it.",
			frontProxyRules())
	}
}

func callerRules() []rule {
	return []rule{
		{
			why:    "What a caller may see.",
			groups: []string{"authorization.k8s.io"}, resources: []string{"subjectaccessreviews"},
			verbs: []string{"create"},
		},
		{
			why:    "Whose a token for the audience lifeline is.",
			groups: []string{"authentication.k8s.io"}, resources: []string{"tokenreviews"},
			verbs: []string{"create"},
		},
	}
}

func sharedRules(secret string) []rule {
	return []rule{{
		why:    "The one Secret of this certificate.",
		groups: []string{""}, resources: []string{"secrets"}, names: []string{secret}, verbs: []string{"get"},
	}}
}

func frontProxyRules() []rule {
	return []rule{{
		why:    "The certificate authority of the API server as a client, and its headers.",
		groups: []string{""}, resources: []string{"configmaps"}, names: []string{"extension-apiserver-authentication"},
		verbs: read,
	}}
}
