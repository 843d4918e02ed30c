// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// desired returns the digest of an object's desired state. It leaves out status, metadata other
// than labels, and the fields that the cluster fills in. An empty part counts as a missing one.
func desired(obj fields, gk schema.GroupKind) uint64 {
	d := newDigest()
	k := kind.Of(gk.Group, gk.Kind)
	filled := k.Filled
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
	d.part("labels", sub(sub(obj, "metadata"), "labels"), func(key string) bool {
		return k.FilledLabels != "" && strings.HasPrefix(key, k.FilledLabels)
	})
	if k.FilledTaints != "" {
		d.taints(items(sub(obj, "spec"), "taints"), k.FilledTaints)
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

// taints hashes all taints but those with a prefix.
func (d *digest) taints(taints []any, prefix string) {
	for _, taint := range taints {
		if t, _ := taint.(fields); !strings.HasPrefix(raw(t, "key"), prefix) {
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
