// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxRelations bounds the relations of one object.
const maxRelations = 32

// relations returns the references of an object to others, sorted, each once.
func relations(obj fields, k *kind.Kind, ref *object.Ref) []object.Relation {
	var out []object.Relation
	for _, r := range k.Relations {
		walkPath(obj, r.Path, func(v any) {
			if to, ok := name(v, r.To, ref); ok {
				out = append(out, object.Relation{Type: r.Type, To: to})
			}
		})
	}
	if kind.StatefulSet.Is(ref.Kind) {
		walkPath(obj, "spec.volumeClaimTemplates[].metadata.name", func(v any) {
			if template, _ := v.(string); template != "" {
				to := kind.ClaimsOf(ref.Namespace, object.Bound(template), ref.Name)
				out = append(out, object.Relation{Type: object.Claim, To: to})
			}
		})
	}
	out = inOrder(out)
	return slices.Clip(out[:min(len(out), maxRelations)])
}

// inOrder sorts relations, each once.
func inOrder(all []object.Relation) []object.Relation {
	slices.SortFunc(all, func(a, b object.Relation) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.To.Kind, b.To.Kind),
			cmp.Compare(a.To.Group, b.To.Group), cmp.Compare(a.To.Namespace, b.To.Namespace),
			cmp.Compare(a.To.Name, b.To.Name))
	})
	return slices.Compact(all)
}

// name returns the object in a field: a plain name of the kind to, or a reference.
func name(v any, to *kind.Kind, from *object.Ref) (object.Name, bool) {
	n := object.Name{Namespace: from.Namespace}
	switch v := v.(type) {
	case string:
		if to == nil {
			return n, false
		}
		n.Group, n.Kind, n.Name = to.Group, to.Kind.Kind, intern(v)
		if to.ClusterScoped {
			n.Namespace = ""
		}
	case fields:
		of := kindOf(raw(v, "apiVersion"), raw(v, "kind"))
		n.Group, n.Kind, n.Name = of.Group, of.Kind, word(v, "name")
		if group, found := v["group"].(string); found {
			n.Group = intern(group)
		}
		n.Namespace = cmp.Or(word(v, "namespace"), n.Namespace)
	}
	return n, n.Kind != "" && n.Name != ""
}

// walkPath calls yield with each value at the path. A name followed by "[]" is a list.
func walkPath(m fields, path string, yield func(any)) {
	key, rest, more := strings.Cut(path, ".")
	list, isList := strings.CutSuffix(key, "[]")
	switch {
	case isList:
		for _, item := range items(m, list) {
			if of, _ := item.(fields); of != nil && more {
				walkPath(of, rest, yield)
			}
		}
	case more:
		if below := sub(m, key); below != nil {
			walkPath(below, rest, yield)
		}
	case m[key] != nil:
		yield(m[key])
	}
}
