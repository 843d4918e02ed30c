// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// excluded is what no context is put on: facts and bookkeeping, which are the bulk of
// all writes, what is not stored, what is secret, and what says who may do what, which
// whoever had our key could change on its way. An empty Resource is the whole group.
var excluded = []schema.GroupResource{
	{Resource: "bindings"},
	{Resource: "endpoints"},
	{Resource: "events"},
	{Resource: "secrets"},
	{Group: "admissionregistration.k8s.io"},
	{Group: "authentication.k8s.io"},
	{Group: "authorization.k8s.io"},
	{Group: "certificates.k8s.io"},
	{Group: "coordination.k8s.io"},
	{Group: "discovery.k8s.io"},
	{Group: "events.k8s.io"},
	{Group: "internal.apiserver.k8s.io"},
	{Group: "rbac.authorization.k8s.io"},
}

// changed holds for an update that makes any difference that counts: the rule of what
// is desired (supply.State.Desired), but for annotations, of which any counts, so that
// a context that was dropped is put back. What it holds back would be answered without
// a patch: most of what controllers apply again and again is the same as before.
const changed = `request.operation != "UPDATE" || object == null || oldObject == null || ` +
	`object.metadata.?annotations != oldObject.metadata.?annotations || ` +
	`object.metadata.?labels != oldObject.metadata.?labels || ` +
	`object.exists(k, !(k in ["apiVersion", "kind", "metadata", "status"]) && (!(k in oldObject) || object[k] != ` +
	`oldObject[k])) || ` +
	`oldObject.exists(k, !(k in ["apiVersion", "kind", "metadata", "status"]) && !(k in object))`

// conditions are those that a request must meet, beside rules, which can exclude
// nothing. A condition that cannot be evaluated holds the request back, as nothing
// that is ignored holds up a write.
func conditions(more []schema.GroupResource) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		// An API server asks itself while it starts, when nothing else may run yet; the
		// kubelet writes of Nodes, leases, mirrors of static Pods, and deletes what has
		// ended.
		{Name: "not-of-nodes-or-the-api-server", Expression: `request.userInfo.username != "system:apiserver" && ` +
			`!(has(request.userInfo.groups) && "system:nodes" in request.userInfo.groups)`},
		{Name: "not-excluded", Expression: excludes(append(slices.Clone(excluded), more...))},
		{Name: "changed", Expression: changed},
	}
}

// excludes is a condition that holds for all resources but those.
func excludes(all []schema.GroupResource) string {
	var groups, resources []string
	for _, gr := range all {
		if gr.Resource == "" {
			groups = append(groups, gr.Group)
		} else {
			resources = append(resources, gr.Resource+"."+gr.Group)
		}
	}
	return `!(request.resource.group in ` + list(groups) +
		` || (request.resource.resource + "." + request.resource.group) in ` + list(resources) + `)`
}

// list is a list in CEL of names, which need no escape.
func list(names []string) string {
	slices.Sort(names)
	return `["` + strings.Join(slices.Compact(names), `", "`) + `"]`
}

// isExcluded reports whether objects of a kind are never asked about.
func isExcluded(gr schema.GroupResource, more []schema.GroupResource) bool {
	return slices.ContainsFunc(append(slices.Clone(excluded), more...), func(e schema.GroupResource) bool {
		return e.Group == gr.Group && (e.Resource == "" || e.Resource == gr.Resource)
	})
}
