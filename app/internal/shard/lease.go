// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// LabelGroup is on all Leases of a group; its value is the group's name.
	LabelGroup = "lifeline.dev/shards"
	// AnnotationTable holds the Table, as JSON, on the Lease <name>-shards.
	AnnotationTable = "lifeline.dev/shard-table"
	// AnnotationState holds a member's State, as JSON, on its Lease.
	AnnotationState = "lifeline.dev/shard-state"
	// maxAnnotation bounds the bytes of each annotation.
	maxAnnotation = 128 << 10
)

func tableName(group string) string { return group + "-shards" }

func memberName(group, identity string) string { return group + "-member-" + identity }

// newLease returns a Lease of the group to create.
func newLease(o *Options, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: o.Namespace, Labels: map[string]string{LabelGroup: o.Name},
	}}
}

// put writes v as an annotation of the Lease.
func put(lease *coordinationv1.Lease, annotation string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) > maxAnnotation {
		return fmt.Errorf(
			"cannot write annotation %s of Lease %s/%s: %d bytes are more than the limit of %d; let fewer "+
				"members take part",
			annotation,
			lease.Namespace,
			lease.Name,
			len(text),
			maxAnnotation,
		)
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	lease.Annotations[annotation] = string(text)
	return nil
}

// get reads an annotation of the Lease into v; a missing one leaves v unchanged.
func get(lease *coordinationv1.Lease, annotation string, v any) error {
	text := lease.Annotations[annotation]
	if text == "" {
		return nil
	}
	if len(text) > maxAnnotation {
		return fmt.Errorf("cannot read annotation %s of Lease %s/%s: %d bytes are more than the limit of %d",
			annotation, lease.Namespace, lease.Name, len(text), maxAnnotation)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf(
			"cannot read annotation %s of Lease %s/%s: %w; delete the Lease if nothing of the group runs",
			annotation,
			lease.Namespace,
			lease.Name,
			err,
		)
	}
	return nil
}

// readTable reads and validates the Table.
func readTable(lease *coordinationv1.Lease) (Table, error) {
	var t Table
	if err := get(lease, AnnotationTable, &t); err != nil {
		return Table{}, err
	}
	wrong := t.Version < 0 || t.Pending != nil && len(t.Pending.Members) == 0
	for i, e := range t.Epochs {
		wrong = wrong || len(e.Members) == 0 || i > 0 && e.From < t.Epochs[i-1].From
	}
	if wrong {
		return Table{}, fmt.Errorf(
			"cannot read annotation %s of Lease %s/%s: no table of epochs; delete the Lease if nothing of the "+
				"group runs",
			AnnotationTable,
			lease.Namespace,
			lease.Name,
		)
	}
	return t, nil
}

// watcher measures for how long Leases have not changed, by one clock.
type watcher struct {
	seen map[string]sighting
}

type sighting struct {
	version string
	at      time.Time
}

// statuses returns the members of the listed Leases. The list was requested at asked and answered
// at answered. A Lease without a change had none until asked.
func (w *watcher) statuses(o *Options, leases []coordinationv1.Lease, asked, answered time.Time) []Status {
	var out []Status
	now := map[string]sighting{}
	for i := range leases {
		lease := &leases[i]
		identity, ok := strings.CutPrefix(lease.Name, memberName(o.Name, ""))
		if !ok {
			continue
		}
		known, ok := w.seen[lease.Name]
		if !ok || known.version != lease.ResourceVersion {
			known = sighting{version: lease.ResourceVersion, at: answered}
		}
		now[lease.Name] = known
		s := Status{Identity: identity}
		if err := get(lease, AnnotationState, &s.State); err != nil || lease.Annotations[AnnotationState] == "" {
			continue // no member
		}
		s.Expired = identity != o.Identity && asked.Sub(known.at) > duration(lease, o.LeaseDuration)
		out = append(out, s)
	}
	w.seen = now
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Identity, b.Identity) })
	return out
}

// duration is the time for which the holder may leave the Lease unchanged. The Lease's own value is
// limited to between our duration and ten times that.
func duration(lease *coordinationv1.Lease, own time.Duration) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return own
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, own), 10*own)
}
