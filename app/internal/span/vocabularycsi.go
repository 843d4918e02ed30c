// SPDX-License-Identifier: Apache-2.0

package span

// The names in the spans of the module csi. Their attributes are those of OpenTelemetry's conventions.
var csiSpans = []Term{{
	SpanName, "csi.v1.Node/<method>", "driver called → answered",
	"`NodeStageVolume`, `NodePublishVolume`, `NodeUnpublishVolume`, `NodeUnstageVolume` or `NodeExpandVolume`, below " +
		"the Pod's `sandbox` or `terminate` (CSI proxy)", "",
}}
