// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxRelations bounds the relations of one object.
const maxRelations = 32

// relations returns the references of the object of s to others, sorted, each once.
func relations(obj fields, k *kind.Kind, s *observation.State) []object.Relation {
	ref, meta := &s.Ref, sub(obj, "metadata")
	out := applied(ref, s.Owners, inMetadata(meta, "labels"), inMetadata(meta, "annotations"))
	out = append(out, sourceOf(obj, ref)...)
	out = append(out, mutating(obj, ref)...)
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
	if kind.Pod.Is(ref.Kind) {
		walkPath(obj, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."+
			"nodeSelectorTerms[].matchFields", func(v any) {
			if node := onlyNode(v); node != "" {
				to := object.Name{Kind: kind.Node.Kind.Kind, Name: node}
				out = append(out, object.Relation{Type: object.Placed, To: to})
			}
		})
	}
	if kind.Ingress.Is(ref.Kind) {
		out = append(out, backendPorts(obj, ref)...)
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

// onlyNode returns the name of the Node in the matchFields of a term, if they allow no other; else "".
func onlyNode(matchFields any) string {
	list, _ := matchFields.([]any)
	for _, field := range list[:min(len(list), maxItems)] {
		m, _ := field.(fields)
		if values := items(m, "values"); raw(m, "key") == "metadata.name" && raw(m, "operator") == "In" &&
			len(values) == 1 {
			name, _ := values[0].(string)
			return intern(object.Bound(name))
		}
	}
	return ""
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
		if to != nil {
			n.Group, n.Kind = cmp.Or(of.Group, to.Group), cmp.Or(of.Kind, to.Kind.Kind)
		}
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
			of, _ := item.(fields)
			switch {
			case of == nil:
			case more:
				walkPath(of, rest, yield)
			default:
				yield(of)
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
