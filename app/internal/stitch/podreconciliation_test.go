// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestStays: a Pod's work belongs to one of its reconciliations.
func TestStays(t *testing.T) {
	id := func(n byte) trace.SpanID { return trace.SpanID{3, 7: n} }
	creation := stay{
		at: id(1), schedule: id(2), sandbox: period{id: id(3), start: second(10), end: second(20)},
		start: span.Time{Time: zero}, end: second(60),
	}
	restart := stay{at: id(4), start: span.Time{Time: second(100)}, end: second(160)}
	deletion := stay{at: id(5), terminate: id(6), start: span.Time{Time: second(200)}, deletion: true}
	pod := &entry{stays: []stay{creation, restart, deletion}}
	call := func(scope, name string) func(*span.Span) {
		return func(s *span.Span) { s.Name, s.Origin.Scope.Name = name, scope }
	}
	for name, c := range map[string]struct {
		reason     string
		of         func(*span.Span)
		start, end int
		want       stay
		phase      trace.SpanID
	}{
		"Create": {
			"a kubelet creates a Pod once, at any time by its clock",
			func(s *span.Span) {
				s.Name, s.Attributes = "syncPod", []attribute.KeyValue{keyUpdateType.String("create")}
			},
			900, 901, creation, trace.SpanID{},
		},
		"Open":    {"work at the time of a restart", call("", "syncPod"), 120, 121, restart, trace.SpanID{}},
		"Between": {"a routine check", call("", "syncPod"), 80, 81, stay{}, trace.SpanID{}},
		"End":     {"the end of a deletion", call("", "syncTerminatingPod"), 210, 211, deletion, trace.SpanID{}},
		"EndEarly": {
			"a Pod is deleted once", call("", "syncTerminatedPod"), 170, 171, deletion, trace.SpanID{},
		},
		"EndByItself": {"a Pod may end by itself", call("", "syncTerminatingPod"), 30, 31, creation, trace.SpanID{}},
		"Mount": {
			"a mount during the phase", call(scopeCSI, "csi.v1.Node/NodePublishVolume"), 12, 13, creation, id(3),
		},
		"MountLater": {
			"a repeated mount of a volume is in no phase", call(scopeCSI, "csi.v1.Node/NodePublishVolume"),
			40, 41, creation, trace.SpanID{},
		},
		"Unmount": {
			"a Pod is deleted once", call(scopeCSI, "csi.v1.Node/NodeUnpublishVolume"), 12, 13, deletion, id(6),
		},
		"Preparation": {
			"the preparation of a container is between the phases",
			call(scopeDevices, "v1beta1.DevicePlugin/PreStartContainer"), 12, 13, creation, trace.SpanID{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := received(1, 1, 0, "")
			c.of(s)
			s.Start.Time, s.End.Time = second(c.start), second(c.end)
			n := newNode(s, 1, zero)
			if got, ok := pod.stayOf(n); got != c.want || ok != (c.want.at.IsValid()) {
				t.Errorf("it belongs to %v, want %v: %s", got.at, c.want.at, c.reason)
			}
			if _, got, _ := pod.calledIn(n); got != c.phase {
				t.Errorf("its phase is %v, want %v: %s", got, c.phase, c.reason)
			}
			var none *entry
			if _, ok := none.stayOf(n); ok {
				t.Error("a Pod without an entry has a reconciliation")
			}
		})
	}
}
