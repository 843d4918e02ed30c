// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// excluded are the resources without contexts: Events and bookkeeping, the bulk of all writes;
// objects that are not stored; secrets; and access control. A holder of our key could change access
// control in transit. An empty Resource means the whole group.
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

// changed is true for an update with a relevant difference. It follows the rule of the desired
// state (supply.State.Desired). Every change of annotations counts as well, so that a dropped
// context is restored. Other requests would be answered without a patch: most repeated applies of
// controllers change nothing.
const changed = `request.operation != "UPDATE" || object == null || oldObject == null || ` +
	`object.metadata.?annotations != oldObject.metadata.?annotations || ` +
	`object.metadata.?labels != oldObject.metadata.?labels || ` +
	`object.exists(k, !(k in ["apiVersion", "kind", "metadata", "status"]) && (!(k in oldObject) || object[k] != ` +
	`oldObject[k])) || ` +
	`oldObject.exists(k, !(k in ["apiVersion", "kind", "metadata", "status"]) && !(k in object))`

// conditions returns match conditions, because rules cannot exclude anything. A condition that
// fails to evaluate skips the webhook, because the failure policy is Ignore.
func conditions(more []schema.GroupResource) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		// An API server sends requests to itself while it starts, when nothing else may run yet.
		// The kubelet writes Nodes, leases and mirrors of static Pods, and deletes finished Pods.
		{Name: "not-of-nodes-or-the-api-server", Expression: `request.userInfo.username != "system:apiserver" && ` +
			`!(has(request.userInfo.groups) && "system:nodes" in request.userInfo.groups)`},
		{Name: "not-excluded", Expression: excludes(append(slices.Clone(excluded), more...))},
		{Name: "changed", Expression: changed},
	}
}

// excludes returns a condition that is true for all resources except those.
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

// list formats names, which need no escape, as a list in CEL.
func list(names []string) string {
	slices.Sort(names)
	return `["` + strings.Join(slices.Compact(names), `", "`) + `"]`
}

// isExcluded reports whether requests for a kind never reach the webhook.
func isExcluded(gr schema.GroupResource, more []schema.GroupResource) bool {
	return slices.ContainsFunc(append(slices.Clone(excluded), more...), func(e schema.GroupResource) bool {
		return e.Group == gr.Group && (e.Resource == "" || e.Resource == gr.Resource)
	})
}
