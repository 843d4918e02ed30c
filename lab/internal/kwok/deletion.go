// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"fmt"
	"time"
)

// maxKilling is the number of Killing Events of a Pod. Each takes one step, and
// steps are not conditional.
const maxKilling = 4

// deletionStages: the containers get the signal to stop, stop, and the Pod is
// removed.
func deletionStages() []stage {
	noticed := `(.status.observedGeneration // 0) >= (.metadata.generation // 0)`
	runningCount := `([.status.containerStatuses[]? | select(.state.running != null)] | length)`
	stages := []stage{
		{
			name: "pod-stopped",
			when: []string{deleted, not(noneRuns), noticed}, delay: delay{stop, 50 * time.Millisecond},
			steps: []any{patch(`{{ $code := "0" }}` + exited + over)},
		},
		{
			name:  "pod-gone",
			when:  []string{deleted, noneRuns, `(.metadata.deletionGracePeriodSeconds != 0)`},
			steps: []any{remove()},
		},
	}
	for n := 1; n <= maxKilling; n++ {
		comparison := "=="
		if n == maxKilling {
			comparison = ">="
		}
		// The patch comes first: in a namespace that is being deleted, Events
		// cannot be created.
		steps := []any{patch(`observedGeneration: {{ .metadata.generation }}`)}
		for i := range n {
			steps = append(steps, event(
				normal,
				"Killing",
				`{{ $running := list }}{{ range .status.containerStatuses }}{{ if .state.running }}{{ $running `+
					`= append $running .name }}{{ end }}{{ end }}`+
					fmt.Sprintf(`{{ $name := index $running %d }}`, i),
				`printf "Stopping container %s" $name`,
				`printf "spec.containers{%s}" $name`,
			))
		}
		stages = append(stages, stage{
			name:  fmt.Sprintf("pod-killing-%d", n),
			when:  []string{deleted, not(noticed), fmt.Sprintf(`%s %s %d`, runningCount, comparison, n)},
			steps: steps,
		})
	}
	return stages
}
