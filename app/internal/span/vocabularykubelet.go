// SPDX-License-Identifier: Apache-2.0

package span

// The names in the spans of the module kubelet. Most of their attributes are those of OpenTelemetry's conventions.
var (
	kubeletSpans = []Term{
		{
			SpanName, "csi.v1.Node/<method>", "driver called → answered",
			"`NodeStageVolume`, `NodePublishVolume`, `NodeUnpublishVolume`, `NodeUnstageVolume` or " +
				"`NodeExpandVolume`, below the Pod's `sandbox` or `terminate` (CSI proxy)", "",
		},
		{
			SpanName, "v1beta1.DevicePlugin/<method>", "device plugin called → answered",
			"`Allocate`, below the Pod's `sandbox`, or `PreStartContainer`, below its reconciliation " +
				"(device proxy)", "",
		},
	}
	kubeletAttributes = []Term{
		{AttributeKey, "k8s.device.resource", devicePlugin, "the name of the extended resource (device proxy)", ""},
		{AttributeKey, "k8s.device.count", devicePlugin, "the number of devices (device proxy)", ""},
		{AttributeKey, "k8s.device.ids", devicePlugin, "the IDs of at most eight of them (device proxy)", ""},
	}
)

// devicePlugin are the spans of calls to device plugins.
const devicePlugin = "`v1beta1.DevicePlugin/<method>`"
