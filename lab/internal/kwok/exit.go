// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"fmt"
	"slices"
	"time"
)

// exited renders the statuses of containers that ended with $code just now.
var exited = `
containerStatuses:
{{ range .status.containerStatuses }}
{{ if .state.running }}
- ` + with(`.`, `(dict "ready" false "started" false "state" (dict "terminated" (dict "exitCode" (int $code)
  "reason" (ternary "Completed" "Error" (eq $code "0")) "startedAt" .state.running.startedAt "finishedAt" Now
  "containerID" .containerID)))`) + `
{{ else }}
- ` + with(`.`, `(dict "ready" false "started" false)`) + `
{{ end }}
{{ end }}
`

// code sets $code to what the containers exit with.
var code = fmt.Sprintf(
	`{{ $code := get (.metadata.annotations | default dict) %q | default "0" }}`,
	Annotation+exitCode,
)

// over renders phase and conditions of a Pod whose containers ended for good.
var over = `
{{ $reason := ternary "PodCompleted" "PodFailed" (eq $code "0") }}
phase: {{ ternary "Succeeded" "Failed" (eq $code "0") }}
conditions:` + podCondition("Ready", "False", `{{ $reason }}`, none) +
	podCondition("ContainersReady", "False", `{{ $reason }}`, none) +
	podCondition("PodReadyToStartContainers", "False", none, none)

// exitStages: the containers end by themselves. One that is to run on is
// restarted at once the first time and after a pause from then on.
func exitStages() []stage {
	running := []string{notDeleted, living, holds("ContainersReady"), allRunning, runsAsJob}
	after := delay{run, time.Second}
	waitBefore := `(.status.containerStatuses // [])[0].restartCount`

	backingOff := []string{notDeleted, living, ended, restarts, waitBefore + ` > 0`}
	restarting := patch(`
phase: Running
containerStatuses:
{{ range .status.containerStatuses }}
{{ $restarts := add (.restartCount | int) 1 }}
{{ $last := .state }}{{ if not $last.terminated }}{{ $last = .lastState }}{{ end }}
- ` + with(`.`, `(dict "started" true "ready" false "restartCount" $restarts "lastState" $last
  "containerID" (printf "containerd://%s" (sha256sum (printf "%s %s %d" $.metadata.uid .name $restarts)))
  "state" (dict "running" (dict "startedAt" Now)))`) + `
{{ end }}`)
	first := `{{ $c := dict "spec" (first .spec.containers) }}`
	field := `printf "spec.containers{%s}" $c.spec.name`
	restartEvents := []any{
		event(normal, "Pulled", first, sayPresent, field),
		event(normal, "Created", first, sayCreated, field),
		event(normal, "Started", first, sayStarted, field),
	}
	crashLoop := allUnready + `{{ $pod := printf "%s_%s(%s)" .metadata.name .metadata.namespace .metadata.uid }}
containerStatuses:
{{ range .status.containerStatuses }}
- ` + with(`.`, `(dict "started" false "lastState" .state "state" (dict "waiting" (dict "reason" "CrashLoopBackOff"
  "message" (printf "back-off 10s restarting failed container=%s pod=%s" .name $pod))))`) + `
{{ end }}`

	return []stage{
		{
			name: "pod-complete", when: append(slices.Clone(running), not(restarts)), delay: after,
			steps: []any{patch(code + exited + over)},
		},
		{
			name: "pod-exit", when: append(slices.Clone(running), restarts), delay: after,
			steps: []any{patch(code + allUnready + exited + `conditions:` + notReady)},
		},
		{
			name: "pod-restart-at-once", when: []string{notDeleted, living, ended, restarts, waitBefore + ` == 0`},
			delay: delay{otherwise: 50 * time.Millisecond},
			steps: append(slices.Clone(restartEvents), restarting),
		},
		{
			name: "pod-crash-loop", when: backingOff, delay: delay{otherwise: 50 * time.Millisecond},
			steps: []any{
				event(
					warning,
					"BackOff",
					first,
					`printf "Back-off restarting failed container %s in pod %s_%s(%s)" $c.spec.name `+
						`.metadata.name .metadata.namespace .metadata.uid`,
					field,
				),
				patch(crashLoop),
			},
		},
		{
			name: "pod-restart", when: []string{notDeleted, living, waitsFor("CrashLoopBackOff")},
			delay: delay{backoff, 10 * time.Second},
			steps: append(slices.Clone(restartEvents), restarting),
		},
	}
}
