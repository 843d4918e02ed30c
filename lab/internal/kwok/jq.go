// SPDX-License-Identifier: Apache-2.0

package kwok

import "fmt"

// The jq expressions that select stages. Those of the stages of one kind
// exclude each other.

const (
	deleted    = `(.metadata.deletionTimestamp != null)`
	notDeleted = `(.metadata.deletionTimestamp == null)`
	admitted   = `(.status.startTime != null)`
	living     = `(.status.phase != "Succeeded" and .status.phase != "Failed")`

	// undone lists, in order, the statuses of the init containers that have not ended (a sidecar:
	// not started) and of the containers that never ran. The first is a kubelet's present work.
	undone = `([(.status.initContainerStatuses // [])[]
  | select((.started == true or .state.terminated.exitCode == 0) | not)]
+ [(.status.containerStatuses // [])[]
  | select(.state.running == null and .state.terminated == null)])`

	allStarted = `((.status.containerStatuses | . != null) and (` + undone + ` | length == 0))`
	allRunning = `((.status.containerStatuses | . != null) and ([(.status.containerStatuses // [])[] | ` +
		`select(.state.running == null)] | length == 0))`
	noneRuns = `([(.status.containerStatuses // [])[] | select(.state.running != null)] | length == 0)`
	ended    = `((.status.containerStatuses // [])[0].state.terminated != null)`

	gatesOpen = `(. as $p | [$p.spec.readinessGates[]?.conditionType]
| all(. as $gate | any($p.status.conditions[]?; .type == $gate and .status == "True")))`
)

// annotationOf is the value of one of our annotations, or null.
func annotationOf(name string) string {
	return fmt.Sprintf(`.metadata.annotations[%q]`, Annotation+name)
}

// holds is true if the condition is True.
func holds(condition string) string {
	return fmt.Sprintf(`any(.status.conditions[]?; .type == %q and .status == "True")`, condition)
}

func not(expr string) string { return `(` + expr + ` | not)` }

// current is a field of the container that is being worked on.
func current(field string) string { return undone + `[0]` + field }

// waitsFor is true if the current container waits for one of the reasons.
func waitsFor(reasons ...string) string {
	expr := `(` + current(`.state.waiting.reason`) + ` as $reason | `
	for i, reason := range reasons {
		if i > 0 {
			expr += ` or `
		}
		expr += fmt.Sprintf(`$reason == %q`, reason)
	}
	return expr + `)`
}

// pulls is true if there is an n-th undone container and its image must be
// pulled; present is true if there is one and its image need not be.
func pulls(n int) string   { return undoneSpec(n) + ` | (. != null and .imagePullPolicy != "Never")` }
func present(n int) string { return undoneSpec(n) + ` | (. != null and .imagePullPolicy == "Never")` }

// undoneSpec is the n-th undone container's part of the spec, or null.
func undoneSpec(n int) string {
	return fmt.Sprintf(`(. as $p | %s[%d].name) as $name
| ([.spec.initContainers[]?, .spec.containers[]?] | map(select(.name == $name)) | first)`, undone, n)
}

// plainInit is true if the current container is an init container that is to
// end, not a sidecar.
var plainInit = `((` + undone + `[0].name) as $name
| any(.spec.initContainers[]?; .name == $name and .restartPolicy != "Always"))`

// runsAsJob is true for Pods whose containers end by themselves.
var runsAsJob = `(` + annotationOf(run) + ` != null or any(.metadata.ownerReferences[]?; .kind == "Job"))`

// restarts is true if a container that ended is started again.
var restarts = `(.spec.restartPolicy == "Always" or (.spec.restartPolicy == "OnFailure" and (` +
	annotationOf(exitCode) + ` // "0") != "0"))`
