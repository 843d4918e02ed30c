// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"fmt"
	"strconv"
	"strings"
)

// printer writes manifests. It formats the text itself, because encoders keep no comments. Every
// value is quoted, so that YAML reads it as a string.
type printer struct {
	b       strings.Builder
	account account
}

// account is the ServiceAccount of the rights.
type account struct{ name, namespace string }

// named is a role and its binding: the suffix of the account's name, and the namespace. Without a
// namespace it is a ClusterRole.
type named struct{ suffix, namespace string }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

func (p *printer) comment(indent, text string) {
	p.line("%s# %s", indent, text)
}

// begin starts a document.
func (p *printer) begin(apiVersion, kind, name, namespace string) {
	p.line("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %q", apiVersion, kind, name)
	if namespace != "" {
		p.line("  namespace: %q", namespace)
	}
	p.line("  labels:\n    app.kubernetes.io/name: \"lifeline\"\n    app.kubernetes.io/instance: %q", p.account.name)
}

func (p *printer) serviceAccount() {
	p.begin("v1", "ServiceAccount", p.account.name, p.account.namespace)
}

// name is the name of a role and its binding.
func (p *printer) name(n named) string {
	if n.suffix == "" {
		return p.account.name
	}
	return p.account.name + "-" + n.suffix
}

// role writes a role and binds it.
func (p *printer) role(n named, why string, rules []rule) {
	p.begin("rbac.authorization.k8s.io/v1", kindOf(n, "Role"), p.name(n), n.namespace)
	p.comment("", why)
	if len(rules) == 0 {
		p.line("rules: []")
	} else {
		p.line("rules:")
	}
	for _, r := range rules {
		p.rule(r)
	}
	p.bind(n)
}

func (p *printer) rule(r rule) {
	p.comment("", r.why)
	p.line("- apiGroups:%s", list(r.groups))
	p.line("  resources:%s", list(r.resources))
	if len(r.names) > 0 {
		p.line("  resourceNames:%s", list(r.names))
	}
	p.line("  verbs:%s", list(r.verbs))
}

// aggregate writes a role that the control plane fills. It has no rules here, because applying an
// empty list again would clear them.
func (p *printer) aggregate() {
	n := named{suffix: extra}
	p.begin("rbac.authorization.k8s.io/v1", kindOf(n, "Role"), p.name(n), "")
	p.comment("", "The control plane fills this role with the rules of every ClusterRole that has the label.")
	p.line("aggregationRule:\n  clusterRoleSelectors:\n  - matchLabels:\n      %s: \"true\"", AggregateLabel)
	p.bind(n)
}

func (p *printer) bind(n named) {
	p.begin("rbac.authorization.k8s.io/v1", kindOf(n, "RoleBinding"), p.name(n), n.namespace)
	p.line("roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %q", kindOf(n, "Role"), p.name(n))
	p.line("subjects:\n- kind: ServiceAccount\n  name: %q\n  namespace: %q", p.account.name, p.account.namespace)
}

func kindOf(n named, kind string) string {
	if n.namespace == "" {
		return "Cluster" + kind
	}
	return kind
}

// list formats a list of strings as the value of a key, on the key's line if it is short.
func list(values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = strconv.Quote(value)
	}
	if line := " [" + strings.Join(quoted, ", ") + "]"; len(line) <= 100 {
		return line
	}
	return "\n  - " + strings.Join(quoted, "\n  - ")
}
