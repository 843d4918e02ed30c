// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// filledIn names, by kind, the fields of the desired state that the cluster itself fills in: by
// binding, allocation or bookkeeping.
var filledIn = map[schema.GroupKind]map[string][]string{
	{Kind: "Pod"}:                   {"spec": {"nodeName"}},
	{Kind: "PersistentVolumeClaim"}: {"spec": {"volumeName"}},
	{Kind: "PersistentVolume"}:      {"spec": {"claimRef"}},
	{Kind: "Namespace"}:             {"spec": {"finalizers"}},
	{Kind: "Node"}:                  {"spec": {"podCIDR", "podCIDRs", "providerID", "taints"}},
	{Kind: "ServiceAccount"}:        {"": {"secrets"}},
}

// boundLabels is the prefix of the labels that binding copies from a Node to its Pod.
const boundLabels = "topology.kubernetes.io/"

// nodeTaints is the prefix of the taints that Kubernetes' own controllers set and remove as a
// Node's conditions change.
const nodeTaints = "node.kubernetes.io/"

// desired returns the digest of an object's desired state. It leaves out status, metadata other
// than labels, and the fields in filledIn. An empty part counts as a missing one.
func desired(obj fields, gk schema.GroupKind) uint64 {
	d := newDigest()
	filled := filledIn[gk]
	top := func(key string) bool {
		switch key {
		case "apiVersion", "kind", "metadata", "status":
			return true
		}
		return has(filled[""], key) || filled[key] != nil
	}
	d.object(obj, top)
	for part, keys := range filled {
		if part != "" {
			d.part(part, sub(obj, part), func(key string) bool { return has(keys, key) })
		}
	}
	isPod := gk == schema.GroupKind{Kind: "Pod"}
	d.part("labels", sub(sub(obj, "metadata"), "labels"), func(key string) bool {
		return isPod && strings.HasPrefix(key, boundLabels)
	})
	if gk == (schema.GroupKind{Kind: "Node"}) {
		d.taints(items(sub(obj, "spec"), "taints"))
	}
	return d.sum()
}

// part hashes an object under a name, unless all its keys are skipped.
func (d *digest) part(name string, m fields, skip func(string) bool) {
	for key := range m {
		if !skip(key) {
			d.text(name)
			d.object(m, skip)
			return
		}
	}
}

func (d *digest) taints(taints []any) {
	for _, taint := range taints {
		if t, _ := taint.(fields); !strings.HasPrefix(raw(t, "key"), nodeTaints) {
			d.value(taint)
		}
	}
}

func has(list []string, s string) bool {
	for _, each := range list {
		if each == s {
			return true
		}
	}
	return false
}
