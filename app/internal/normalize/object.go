// SPDX-License-Identifier: Apache-2.0

// Package normalize converts Kubernetes objects and Events, as the API serves them, into the normal
// form of package observation. It reads the fields that the engine uses, and no others: no data of a
// Secret or ConfigMap, no environment or command of a container. The same object always gives the
// same observation.
package normalize

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Object returns the fields of an object that the engine uses. It only reads u, as decoded by the
// dynamic client or by package apiproto. It keeps nothing of u but strings and, for a while, the spec.
// It returns nil for an object without UID or numeric resourceVersion, such as a metric or a
// ComponentStatus: these are not stored and have no lifecycle.
func (n *Normalizer) Object(u *unstructured.Unstructured) *observation.State {
	s, _ := n.object(u, false)
	return s
}

// Early is Object for an object that arrives possibly before others whose values its messages quote. Then the text
// of the messages is withheld, and waits is true: Object returns them later.
func (n *Normalizer) Early(u *unstructured.Unstructured) (s *observation.State, waits bool) {
	return n.object(u, true)
}

// Learn remembers the values that messages must not show of an object that an earlier process observed.
func (n *Normalizer) Learn(u *unstructured.Unstructured) {
	s := identified(u.Object)
	if s == nil {
		return
	}
	if words := n.own(s, u.Object, items(sub(u.Object, "metadata"), "managedFields")); words != nil {
		n.relateTo(s, u.Object)
		n.remember(s, u.Object, words)
	}
}

// identified returns the identity of an object, and what stands in its metadata; nil for one that is not stored.
func identified(obj fields) *observation.State {
	meta := sub(obj, "metadata")
	version, err := strconv.ParseUint(raw(meta, "resourceVersion"), 10, 64)
	if err != nil || raw(meta, "uid") == "" {
		return nil
	}
	return &observation.State{
		Ref: object.Ref{
			Kind:      kindOf(raw(obj, "apiVersion"), raw(obj, "kind")),
			Namespace: word(meta, "namespace"),
			Name:      text(meta, "name"),
			UID:       types.UID(text(meta, "uid")),
		},
		ResourceVersion: version,
		Generation:      number(meta, "generation"),
		Created:         moment(meta, "creationTimestamp"),
		Deleting:        moment(meta, "deletionTimestamp"),
		GraceSeconds:    number(meta, "deletionGracePeriodSeconds"),
		Finalizers:      words(meta, "finalizers", ""),
		Owners:          owners(items(meta, "ownerReferences")),
	}
}

// relateTo sets the relations of an object.
func (n *Normalizer) relateTo(s *observation.State, obj fields) {
	gk := schema.GroupKind{Group: s.Group, Kind: s.Kind.Kind}
	s.Relations = n.relate(relations(obj, kind.Of(gk.Group, gk.Kind), s), gk, obj)
}

func (n *Normalizer) object(u *unstructured.Unstructured, early bool) (*observation.State, bool) {
	obj := health.Reduced(u.Object)
	s := identified(obj)
	if s == nil {
		return nil, false
	}
	of, meta, status := s.Kind, sub(obj, "metadata"), sub(obj, "status")
	gk := schema.GroupKind{Group: of.Group, Kind: of.Kind}
	_, hasStatus := obj["status"]
	s.Labels, s.ObservedGeneration = n.labels(sub(meta, "labels")), health.Observed(status)
	list := conditionsOf(status)
	s.Conditions = conditions(list)
	if kind.IsApplication(of) {
		s.Conditions = applicationConditions(status, s.Conditions)
	}
	if s.ObservedGeneration < 0 {
		s.ObservedGeneration = observedIn(list)
	}
	s.Reconciled = (hasStatus || s.Generation > 0) && gk != kind.EndpointSlice.GroupKind()
	n.relateTo(s, obj)
	said := n.textsOf(s, obj, n.own(s, obj, items(meta, "managedFields")), early)
	carry(s, carried(sub(meta, "annotations")), raw(meta, "generateName"))
	switch gk {
	case kind.Pod.GroupKind():
		s.Pod = pod(obj)
	case kind.Node.GroupKind():
		s.Node = node(obj)
	case kind.EndpointSlice.GroupKind():
		s.Endpoints = endpoints(obj, s.Namespace)
	case kind.HorizontalPodAutoscaler.GroupKind():
		s.Autoscaler = autoscaler(obj)
	default:
		s.Workload = workload(obj, gk)
		s.Revision = revision(obj, of)
	}
	s.Kept = said.kept
	s.CleanBy(said.clean)
	if kind.CustomResourceDefinition.Is(of) {
		n.Signals.Define(obj)
	}
	if n.judges(of) && s.Deleting.IsZero() {
		s.Progress, s.ProgressMessage = n.judged(s, obj, said)
	} else {
		s.Progress, s.ProgressMessage = n.progress(&unstructured.Unstructured{Object: obj}, gk, s, said)
	}
	s.Masked = said.masked
	return s, said.waits
}

// labels returns the labels with the configured keys, sorted by key.
func (n *Normalizer) labels(all fields) []object.Label {
	var out []object.Label
	for _, key := range n.Labels {
		if value, there := all[key].(string); there {
			out = append(out, object.Label{Key: key, Value: intern(value)})
		}
	}
	slices.SortFunc(out, func(a, b object.Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// kindOf splits an apiVersion. The parts are interned.
func kindOf(apiVersion, kind string) object.Kind {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	return object.Kind{Group: intern(group), Version: intern(version), Kind: intern(kind)}
}

func owners(refs []any) []object.Owner {
	if len(refs) == 0 {
		return nil
	}
	out := make([]object.Owner, 0, len(refs))
	for _, ref := range refs {
		m, _ := ref.(fields)
		out = append(out, object.Owner{
			Kind:       kindOf(raw(m, "apiVersion"), raw(m, "kind")),
			Name:       word(m, "name"),
			UID:        types.UID(word(m, "uid")),
			Controller: truth(m, "controller"),
		})
	}
	return out
}

// own records the fields of an object, and their managers. It returns the values that messages must not show.
func (n *Normalizer) own(s *observation.State, obj fields, entries []any) *mask.Words {
	entries = statusLast(entries)
	d, owned := n.digest(), make([]managed, len(entries))
	defer digests.Put(d)
	for i, entry := range entries {
		m, _ := entry.(fields)
		owned[i] = n.managed(m["fieldsV1"], d)
		s.Managers = append(slices.Grow(s.Managers, len(entries)-i), observation.Manager{
			Name:        word(m, "manager"),
			Operation:   word(m, "operation"),
			Subresource: word(m, "subresource"),
			Time:        moment(m, "time"),
			Fields:      owned[i].digest,
		})
	}
	t := n.table(d, s, obj, owned)
	s.Leaves, s.Desired = t.leaves, t.desired
	return t.words
}

// statusLast puts the entries for the status last. A write to the status then leaves the positions
// of all other entries as they are.
func statusLast(entries []any) []any {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b any) int {
		return cmp.Compare(isStatus(a), isStatus(b))
	})
	return entries
}

// isStatus returns 1 for the entry of a status, else 0.
func isStatus(entry any) int {
	m, _ := entry.(fields)
	if raw(m, "subresource") == "status" {
		return 1
	}
	return 0
}

// observedIn returns the observedGeneration inside conditions, as in the Gateway API, or -1: the lowest
// of the conditions that the object is expected to reach, else the highest.
func observedIn(list []any) int64 {
	goal, other := int64(-1), int64(-1)
	for _, item := range list {
		m, _ := item.(fields)
		g := numberOr(m, "observedGeneration", -1)
		switch {
		case g < 0:
		case !kind.IsGoal(raw(m, "type")):
			other = max(other, g)
		case goal < 0, g < goal:
			goal = g
		}
	}
	if goal >= 0 {
		return goal
	}
	return other
}

func conditions(list []any) []observation.Condition {
	if len(list) == 0 {
		return nil
	}
	out := make([]observation.Condition, 0, len(list))
	for _, item := range list {
		m, _ := item.(fields)
		if raw(m, "type") == "" {
			continue
		}
		out = append(out, observation.Condition{
			Type:    word(m, "type"),
			Status:  word(m, "status"),
			Reason:  word(m, "reason"),
			Message: raw(m, "message"),
			Since:   moment(m, "lastTransitionTime"),
		})
	}
	return out
}
