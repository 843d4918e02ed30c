// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// Ref returns the saved form of a reference.
func (w *Writer) Ref(o *object.Ref) *statepb.Ref {
	m := w.slabs.refs.next()
	*m = statepb.Ref{
		Kind:      savedKind(w, o.Kind),
		Namespace: w.Text(o.Namespace),
		Name:      w.Text(o.Name),
		Uid:       w.Text(string(o.UID)),
	}
	return m
}

// Ref returns the reference.
func (r *Reader) Ref(m *statepb.Ref) object.Ref {
	return object.Ref{
		Kind:      at(r, r.kinds, m.GetKind()),
		Namespace: r.Text(m.GetNamespace()),
		Name:      r.Text(m.GetName()),
		UID:       types.UID(r.Text(m.GetUid())),
	}
}

func savedKind(w *Writer, k object.Kind) uint64 {
	if k == (object.Kind{}) {
		return 0
	}
	n, added := w.kinds.number(k)
	if added {
		w.values++
		w.Part.Kinds = append(w.Part.Kinds, &statepb.Kind{
			Group:   w.Text(k.Group),
			Version: w.Text(k.Version),
			Kind:    w.Text(k.Kind),
		})
	}
	return n
}

func readKind(r *Reader, m *statepb.Kind) object.Kind {
	return object.Kind{Group: r.Text(m.Group), Version: r.Text(m.Version), Kind: r.Text(m.Kind)}
}

func savedOwnerList(w *Writer, list []object.Owner) uint64 {
	if len(list) == 0 {
		return 0
	}
	n, added := w.owners.number(stretch[object.Owner]{&list[0], len(list)})
	if added {
		w.Part.Owners = append(w.Part.Owners, &statepb.Owners{Owners: messages(w, list, savedOwner)})
	}
	return n
}

func readOwnerList(r *Reader, m *statepb.Owners) []object.Owner {
	return values(r, m.Owners, readOwner)
}

func savedOwner(w *Writer, o object.Owner) *statepb.Owner {
	return &statepb.Owner{
		Kind:       savedKind(w, o.Kind),
		Name:       w.Text(o.Name),
		Uid:        w.Text(string(o.UID)),
		Controller: o.Controller,
	}
}

func readOwner(r *Reader, m *statepb.Owner) object.Owner {
	return object.Owner{
		Kind:       at(r, r.kinds, m.Kind),
		Name:       r.Text(m.Name),
		UID:        types.UID(r.Text(m.Uid)),
		Controller: m.Controller,
	}
}

func savedRelationList(w *Writer, list []object.Relation) uint64 {
	if len(list) == 0 {
		return 0
	}
	n, added := w.relations.number(stretch[object.Relation]{&list[0], len(list)})
	if added {
		w.Part.Relations = append(w.Part.Relations, &statepb.Relations{
			Relations: messages(w, list, savedRelation),
		})
	}
	return n
}

func readRelationList(r *Reader, m *statepb.Relations) []object.Relation {
	return values(r, m.Relations, readRelation)
}

func savedRelation(w *Writer, o object.Relation) *statepb.Relation {
	return &statepb.Relation{
		Type:      w.Text(string(o.Type)),
		Group:     w.Text(o.To.Group),
		Kind:      w.Text(o.To.Kind),
		Namespace: w.Text(o.To.Namespace),
		Name:      w.Text(o.To.Name),
	}
}

func readRelation(r *Reader, m *statepb.Relation) object.Relation {
	return object.Relation{
		Type: object.RelationType(r.Text(m.Type)),
		To: object.Name{
			Group: r.Text(m.Group), Kind: r.Text(m.Kind), Namespace: r.Text(m.Namespace), Name: r.Text(m.Name),
		},
	}
}

func readTextList(r *Reader, m *statepb.List) []string { return texts(r, m.Values) }

// texts returns the texts of these numbers.
func texts(r *Reader, numbers []uint64) []string {
	if len(numbers) == 0 {
		return nil
	}
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = r.Text(n)
	}
	return out
}
