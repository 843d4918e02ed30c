// SPDX-License-Identifier: Apache-2.0

package kwok

import "time"

// heartbeatInterval is how often a kubelet reports a status without change.
const heartbeatInterval = 5 * time.Minute

const nodeConditions = `
{{ $now := Now }}
conditions:
{{ range list "MemoryPressure" "DiskPressure" "PIDPressure" }}
- type: {{ . }}
  status: "False"
  reason: {{ printf "KubeletHas%s" (get (dict "MemoryPressure" "SufficientMemory" "DiskPressure" "NoDiskPressure"
    "PIDPressure" "SufficientPID") .) }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $.metadata.creationTimestamp | Quote }}
{{ end }}
- type: Ready
  status: "True"
  reason: KubeletReady
  message: kubelet is posting ready status
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
`

// nodeStages make a Node Ready and keep it so. KWOK renews its Lease itself.
func nodeStages() []stage {
	return []stage{
		{
			name: "node-ready", kind: "Node",
			when:  []string{not(holds("Ready"))},
			steps: []any{patch(nodeConditions)},
		},
		{
			name: "node-heartbeat", kind: "Node",
			when:  []string{holds("Ready")},
			delay: delay{otherwise: heartbeatInterval},
			steps: []any{patch(`{{ $now := Now }}
conditions:
{{ range .status.conditions }}
- ` + with(`.`, `(dict "lastHeartbeatTime" $now)`) + `
{{ end }}`)},
		},
	}
}
