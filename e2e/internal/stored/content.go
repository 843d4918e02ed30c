// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// Key identifies a stored write: by its resourceVersion, or as the deletion of the object.
type Key struct{ UID, Version string }

// Deletion stands for the resourceVersion of a deletion, which some answers do not name.
const Deletion = "deletion"

// KeyOf returns the identity of a write.
func KeyOf(w *audit.Write) Key {
	if VerbOf(w) == "delete" {
		return Key{w.UID, Deletion}
	}
	return Key{w.UID, w.ResourceVersion}
}

// VerbOf returns create, update or delete.
func VerbOf(w *audit.Write) string {
	switch {
	case w.Verb == "delete", w.Verb == "deletecollection", w.Subresource == "eviction":
		return "delete"
	case w.Code == 201 && w.Subresource == "":
		return "create"
	}
	return "update"
}

// Unwatched are resources that a server does not watch.
var Unwatched = []string{"events", "leases", "endpoints", "secrets", "ipaddresses", "csistoragecapacities"}

// Content is an answer in parts: Wish is the content without status and metadata, Marks are labels and
// annotations. OK means that the answer is an object. A node with a taint against Pods, because its
// kubelet has stopped, is Lost.
type Content struct {
	OK, Lost    bool
	Wish, Marks map[string]any
}

// results are fields of a spec that a controller fills in, by resource: the result of binding, and copies from
// the objects of the providers of Cluster API.
var results = map[string][]string{
	"persistentvolumes":      {"claimRef"},
	"persistentvolumeclaims": {"volumeName"},
	"clusters":               {"controlPlaneEndpoint"},
	"machines":               {"providerID", "bootstrap.dataSecretName"},
}

// remove removes the field at a path of at most two names.
func remove(fields map[string]any, path string) {
	above, name, nested := strings.Cut(path, ".")
	if !nested {
		delete(fields, path)
	} else if inner, ok := fields[above].(map[string]any); ok {
		delete(inner, name)
	}
}

// ContentOf returns the content of an object after a write.
func ContentOf(w *audit.Write) Content {
	var all map[string]any
	if w.Object == nil || json.Unmarshal(w.Object, &all) != nil {
		return Content{}
	}
	if all["kind"] == "PartialObjectMetadata" {
		return Content{}
	}
	meta, _ := all["metadata"].(map[string]any)
	lost := false
	if spec, ok := all["spec"].(map[string]any); ok && w.Resource == "nodes" {
		taints, _ := spec["taints"].([]any)
		taints = slices.DeleteFunc(taints, func(t any) bool { // these follow the conditions
			m, _ := t.(map[string]any)
			key, _ := m["key"].(string)
			lost = lost || key == "node.kubernetes.io/unreachable" && m["effect"] == "NoExecute"
			return strings.HasPrefix(key, "node.kubernetes.io/")
		})
		if delete(spec, "taints"); len(taints) > 0 {
			spec["taints"] = taints
		}
	}
	if spec, ok := all["spec"].(map[string]any); ok {
		for _, path := range results[w.Resource] {
			remove(spec, path)
		}
	}
	for _, field := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(all, field)
	}
	marks := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		values, _ := meta[field].(map[string]any)
		for k, v := range values {
			if !strings.HasPrefix(k, "deployment.kubernetes.io/") &&
				!strings.HasPrefix(k, "kubectl.kubernetes.io/last") {
				marks[field+"/"+k] = v
			}
		}
	}
	return Content{OK: true, Lost: lost, Wish: all, Marks: marks}
}
