// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// rule is a PolicyRule with its reason.
type rule struct {
	why               string
	groups, resources []string
	// names limits the rule to these objects; none means all.
	names []string
	verbs []string
}

// read are the read-only verbs.
var read = []string{"get", "list", "watch"}

const (
	eventsGroup = "events.k8s.io"
	leasesGroup = "coordination.k8s.io"
)

// special are resources with a separate rule, because their reason differs from their group's.
var special = map[schema.GroupResource]string{
	{Resource: "configmaps"}: "Messages must not show values of ConfigMaps. With `messages: strict`, only their " +
		"metadata is read.",
	{Resource: "secrets"}:    "Only the metadata of Secrets is asked for; RBAC cannot grant less than the whole.",
	{Resource: "namespaces"}: "Namespaces come and go, too; the UID of kube-system is the identity of the cluster.",
	{Resource: "nodes"}:      "Where Pods run: the labels of Nodes are on the spans of their Pods.",
	{Group: "apiextensions.k8s.io",
		Resource: "customresourcedefinitions"}: "A kind that is new is watched from its definition on.",
	{Group: eventsGroup, Resource: "events"}: "What components say that they did: times and reasons of phases. " +
		"Events are in both groups.",
}

// groups are Kubernetes' own groups, and the reasons to watch them.
var groups = map[string]string{
	"": "Pods, whose conditions and containers are the phases of a trace, and what is " +
		"around them.",
	"admissionregistration.k8s.io": "Webhooks and policies of admission, which change what others write.",
	"apiextensions.k8s.io":         "Extensions of the API.",
	"apiregistration.k8s.io":       "APIs that other servers serve.",
	"apps":                         "Workloads, and what their controllers make of them.",
	"autoscaling":                  "What scales workloads, and so causes their changes.",
	"batch":                        "Jobs, and what makes them.",
	"certificates.k8s.io":          "Requests for certificates, signed step by step.",
	"discovery.k8s.io":             "Endpoints of Services: when a Pod gets traffic.",
	"flowcontrol.apiserver.k8s.io": "Priorities of requests.",
	"networking.k8s.io":            "Ingresses and policies: controllers answer to them.",
	"node.k8s.io":                  "Classes of container runtimes.",
	"policy":                       "Budgets that hold evictions back.",
	"rbac.authorization.k8s.io":    "Changes of rights are changes, too. Reading a role grants nothing.",
	"resource.k8s.io":              "Devices that Pods claim and wait for.",
	"scheduling.k8s.io":            "Priorities of Pods.",
	"storagemigration.k8s.io":      "Migrations of stored objects to another version.",
	"storage.k8s.io":               "Volumes are attached and provisioned by these.",
}

// rules returns the rules for watched, which must be sorted.
func rules(watched []watch.Offered) []rule {
	var out []rule
	byGroup := map[string]int{}
	for _, r := range watched {
		if why, ok := special[r.GroupResource]; ok {
			alone := rule{why: why, groups: []string{r.Group}, resources: []string{r.Resource}, verbs: read}
			if r.Group == eventsGroup {
				alone.groups = []string{"", eventsGroup}
			}
			out = append(out, alone)
			continue
		}
		i, ok := byGroup[r.Group]
		if !ok {
			i = len(out)
			byGroup[r.Group] = i
			out = append(out, rule{why: whyGroup(r.Group), groups: []string{r.Group}, verbs: read})
		}
		out[i].resources = append(out[i].resources, r.Resource)
	}
	return out
}

func whyGroup(group string) string {
	if why, ok := groups[group]; ok {
		return why
	}
	return "Kinds that this cluster offers beside those of Kubernetes."
}

// identityRule allows reading the identity of the cluster, and nothing else.
func identityRule() rule {
	return rule{
		why: "The UID of kube-system is the identity of the cluster; without this right, a hash of the API " +
			"server's address is.",
		groups: []string{""}, resources: []string{"namespaces"}, names: []string{"kube-system"}, verbs: []string{"get"},
	}
}

// readsNamespaces reports whether rules include the grant of identityRule.
func readsNamespaces(rules []rule) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return slices.Contains(r.groups, "") && slices.Contains(r.resources, "namespaces")
	})
}
