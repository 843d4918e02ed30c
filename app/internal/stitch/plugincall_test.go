// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

const (
	csiScope    = "github.com/kube-lifeline/lifeline/kubelet/csi"
	deviceScope = "github.com/kube-lifeline/lifeline/kubelet/deviceplugin"
)

// mount adds a call to a CSI driver for a Pod, with the driver's own span.
func mount(f *foreign, method, pod string, start, end float64) *span.Span {
	out := f.add("csi-driver@node-1", "c", "csi.v1.Node/"+method, by{7, 1}, 0, start, end,
		attribute.String("k8s.pod.uid", string(uid(pod))))
	out.Origin.Scope.Name = csiScope
	f.add("disk@node-1", "s", "csi.v1.Node/"+method, by{7, 2}, 1, start, end)
	return out
}

// allocate adds a call to a device plugin for a Pod.
func allocate(f *foreign, method string, id byte, start, end float64) {
	f.add("device-plugin@node-1", "c", "v1beta1.DevicePlugin/"+method, by{7, id}, 0, start, end,
		attribute.String("k8s.pod.uid", string(uid("web-1")))).Origin.Scope.Name = deviceScope
}

// TestCallsOfDevicePlugins joins calls to device plugins to their Pods.
func TestCallsOfDevicePlugins(t *testing.T) {
	s, _, _ := web()
	var f foreign
	allocate(&f, "Allocate", 1, 45, 50)
	allocate(&f, "PreStartContainer", 2, 51, 52)
	joined := join(stitch.Options{}, &f, s.Trace)[0]
	check(t, s.Trace, joined)
	for _, want := range []string{
		"sandbox > v1beta1.DevicePlugin/Allocate (identity)",
		"reconcile Pod > v1beta1.DevicePlugin/PreStartContainer (identity)",
	} {
		if got := edgesOf(joined); !slices.Contains(got, want) {
			t.Errorf("the edges are %q, want also %q", got, want)
		}
	}
}

// TestCallsOfDrivers joins calls to CSI drivers to the phases of their Pods.
func TestCallsOfDrivers(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		spans  func(f *foreign)
		ours   func(s story, pod *span.Span)
		want   string
	}{
		"mount": {
			reason: "volumes are mounted before the sandbox runs",
			spans:  func(f *foreign) { mount(f, "NodePublishVolume", "web-1", 45, 50) },
			want:   "sandbox > csi.v1.Node/NodePublishVolume (identity)",
		},
		"a later reconciliation": {
			reason: "the phase counts",
			spans:  func(f *foreign) { mount(f, "NodeStageVolume", "web-1", 45, 50) },
			ours:   func(s story, pod *span.Span) { s.add(pod, "reconcile Pod", pod.Object, 41, 4000) },
			want:   "sandbox > csi.v1.Node/NodeStageVolume (identity)",
		},
		"unmount": {
			reason: "volumes are unmounted while the Pod ends",
			spans:  func(f *foreign) { mount(f, "NodeUnpublishVolume", "web-1", 4100, 4150) },
			ours: func(s story, pod *span.Span) {
				end := s.add(pod, "reconcile Pod", pod.Object, 4000, 4200)
				s.add(end, "terminate", pod.Object, 4000, 4200)
			},
			want: "terminate > csi.v1.Node/NodeUnpublishVolume (identity)",
		},
		"unmount of the device": {
			reason: "it may come after the Pod",
			spans:  func(f *foreign) { mount(f, "NodeUnstageVolume", "web-1", 4300, 4350) },
			ours: func(s story, pod *span.Span) {
				end := s.add(pod, "reconcile Pod", pod.Object, 4000, 4200)
				s.add(end, "terminate", pod.Object, 4000, 4200)
			},
			want: "terminate > csi.v1.Node/NodeUnstageVolume (identity)",
		},
		"much later": {
			reason: "a kubelet that starts again mounts again",
			spans:  func(f *foreign) { mount(f, "NodePublishVolume", "web-1", 900_000, 900_100) },
		},
		"another scope": {
			reason: "the attribute alone does not make a span a call for a Pod",
			spans: func(f *foreign) {
				mount(f, "NodePublishVolume", "web-1", 45, 50).Origin.Scope.Name = "another"
			},
		},
		"another Pod": {spans: func(f *foreign) { mount(f, "NodePublishVolume", "web-2", 45, 50) }},
		"an unknown context": {
			reason: "the caller sends a context of another tool",
			spans: func(f *foreign) {
				mount(f, "NodePublishVolume", "web-1", 45, 50).Parent = trace.SpanID{1}
			},
			want: "sandbox > csi.v1.Node/NodePublishVolume (identity)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, pod := web()
			if test.ours != nil {
				test.ours(s, pod)
			}
			var f foreign
			test.spans(&f)
			joined := join(stitch.Options{}, &f, s.Trace)[0]
			check(t, s.Trace, joined)
			var got []string
			for _, edge := range edgesOf(joined) {
				if strings.Contains(edge, "> csi.v1.Node/") {
					got = append(got, edge)
				}
			}
			switch {
			case test.want == "" && len(got) > 0:
				t.Errorf("joined by %q, want none: %s", got, test.reason)
			case test.want != "" && (len(got) != 2 || got[0] != test.want && got[1] != test.want):
				t.Errorf("joined by %q, want %q and the driver's own span: %s", got, test.want, test.reason)
			}
		})
	}
}
