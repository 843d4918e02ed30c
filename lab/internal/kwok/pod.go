// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"fmt"
	"slices"
	"time"
)

const (
	normal  = "Normal"
	warning = "Warning"
)

// podStages play a Pod from the moment it is bound.
func podStages(d Delays) []stage {
	var all []stage
	for _, group := range [][]stage{
		sandboxStages(),
		imageStages(d),
		containerStages(d),
		exitStages(),
		deletionStages(),
	} {
		all = append(all, group...)
	}
	for i := range all {
		all[i].kind = "Pod"
	}
	return all
}

// then makes a variant of the stage for each way on from it: the next
// container's image is pulled, is there, or no container is left. n is the
// place of that next container among those that are undone before the stage.
// The Event comes before the stage's last step, the patch, which may set off
// the next stage at once.
func then(s stage, n int) []stage {
	pull, there, last := s, s, s
	pull.name += "-then-pull"
	pull.when = append(slices.Clone(s.when), pulls(n))
	pull.steps = slices.Insert(slices.Clone(s.steps), len(s.steps)-1, pulling(n))
	there.name += "-then-present"
	there.when = append(slices.Clone(s.when), present(n))
	last.name += "-last"
	last.when = append(slices.Clone(s.when), fmt.Sprintf(`%s | length <= %d`, undone, n))
	return []stage{pull, there, last}
}

func pulling(n int) any {
	return containerEvent(n, normal, "Pulling", `printf "Pulling image \"%s\"" $c.spec.image`)
}

// sandboxStages: the kubelet notices the Pod, and makes its sandbox.
func sandboxStages() []stage {
	admit := stage{
		name: "pod-admit",
		when: []string{notDeleted, living, not(admitted)},
		steps: []any{patch(allUnready + `
{{ $inits := list }}{{ range .spec.initContainers }}{{ $inits = append $inits .name }}{{ end }}
phase: Pending
startTime: {{ Now | Quote }}
observedGeneration: {{ .metadata.generation }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
hostIPs:
- ip: {{ NodeIPWith .spec.nodeName | Quote }}
conditions:` + podCondition("PodReadyToStartContainers", "False", none, none) +
			`{{ if $inits }}` + podCondition("Initialized", "False", "ContainersNotInitialized",
			`{{ printf "containers with incomplete status: [%s]" (join " " $inits) | Quote }}`) +
			`{{ else }}` + podCondition("Initialized", "True", none, none) + `{{ end }}` +
			notReady + `
initContainerStatuses:
{{ range .spec.initContainers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: false, started: false, restartCount: 0,
   state: {waiting: {reason: PodInitializing}}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: false, started: false, restartCount: 0,
   state: {waiting: {reason: {{ if $inits }}PodInitializing{{ else }}ContainerCreating{{ end }}}}}
{{ end }}`)},
	}
	sandbox := stage{
		name:  "pod-sandbox",
		when:  []string{notDeleted, living, admitted, not(holds("PodReadyToStartContainers"))},
		delay: delay{otherwise: 20 * time.Millisecond},
		steps: []any{patch(`
{{ $ip := PodIPWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ $ip | Quote }}
podIPs:
- ip: {{ $ip | Quote }}
conditions:` + podCondition("PodReadyToStartContainers", "True", none, none))},
	}
	return append([]stage{admit}, then(sandbox, 0)...)
}

// imageStages: the current container's image.
func imageStages(d Delays) []stage {
	working := []string{
		notDeleted, living, holds("PodReadyToStartContainers"),
		not(allStarted), current(`.imageID == ""`),
	}
	fails, succeeds := `(`+annotationOf(pullError)+` != null)`, `(`+annotationOf(pullError)+` == null)`
	starting := waitsFor("ContainerCreating", "PodInitializing")
	when := func(more ...string) []string { return append(slices.Clone(working), more...) }

	pulled := patch(locate + `{{ $image := (first $undone).spec.image }}
{{ $fields := dict "imageID" (printf "%s@sha256:%s" $image (sha256sum $image)) }}` + change)
	waiting := func(reason, message string) any {
		return patch(
			locate + `{{ $c := first $undone }}{{ $error := get .metadata.annotations ` +
				`"` + Annotation + pullError + `" }}
{{ $fields := dict "state" (dict "waiting" (dict "reason" "` + reason + `" "message" (` + message + `))) }}` + change,
		)
	}
	annotation := fmt.Sprintf(`(get .metadata.annotations %q)`, Annotation+pullError)
	duration := fmt.Sprintf(`(get (.metadata.annotations | default dict) %q | default %q)`,
		Annotation+"pull", d.Pull.String())

	return []stage{
		{
			name: "pod-pulled", when: when(starting, pulls(0), succeeds), delay: delay{"pull", d.Pull},
			steps: []any{
				containerEvent(
					0,
					normal,
					"Pulled",
					`printf "Successfully pulled image \"%s\" in %s (%s including waiting). Image size: %d `+
						`bytes." $c.spec.image `+
						duration+` `+duration+` (mod (adler32sum $c.spec.image | int64) 200000000)`,
				),
				pulled,
			},
		},
		{
			name: "pod-image-present", when: when(starting, present(0)),
			steps: []any{containerEvent(0, normal, "Pulled", sayPresent), pulled},
		},
		{
			name: "pod-pull-failed", when: when(starting, pulls(0), fails), delay: delay{"pull", d.Pull},
			steps: []any{
				containerEvent(0, warning, "Failed",
					`printf "Failed to pull image \"%s\": %s" $c.spec.image `+annotation),
				containerEvent(0, warning, "Failed", `"Error: ErrImagePull"`),
				waiting("ErrImagePull", `$error`),
			},
		},
		{
			name:  "pod-pull-backoff",
			when:  when(waitsFor("ErrImagePull")),
			delay: delay{otherwise: 500 * time.Millisecond},
			steps: []any{
				containerEvent(0, normal, "BackOff", `printf "Back-off pulling image \"%s\"" $c.spec.image`),
				containerEvent(0, warning, "Failed", `"Error: ImagePullBackOff"`),
				waiting("ImagePullBackOff",
					`printf "Back-off pulling image \"%s\": ErrImagePull: %s" $c.spec.image $error`),
			},
		},
		{
			name: "pod-pull-again", when: when(waitsFor("ImagePullBackOff")), delay: delay{backoff, 10 * time.Second},
			steps: []any{pulling(0), patch(locate +
				`{{ $fields := dict "state" (dict "waiting" (dict "reason" "ContainerCreating")) }}` + change)},
		},
	}
}

// containerStages: the current container is created, started, and ready or,
// for an init container, over.
func containerStages(d Delays) []stage {
	working := []string{
		notDeleted, living, not(allStarted), current(`.imageID != ""`),
		waitsFor("ContainerCreating", "PodInitializing"),
	}
	create := stage{
		name: "pod-create", when: append(slices.Clone(working), current(`.containerID == null`)),
		delay: delay{"create", d.Create},
		steps: []any{
			containerEvent(0, normal, "Created", sayCreated),
			patch(
				locate + containerID(
					`(first $undone).status.name`,
					`0`,
				) + `{{ $fields := dict "containerID" $id }}` + change,
			),
		},
	}
	created := append(slices.Clone(working), current(`.containerID != null`))
	start := stage{
		name: "pod-start", when: append(slices.Clone(created), not(plainInit)),
		delay: delay{"start", d.Start},
		steps: []any{
			containerEvent(0, normal, "Started", sayStarted),
			// Only a sidecar among init containers counts as started.
			patch(locate + `{{ $c := first $undone }}
{{ $sidecar := and $c.init (eq (toString $c.spec.restartPolicy) "Always") }}
{{ $fields := dict "started" (or $sidecar (not $c.init)) "ready" $sidecar
  "state" (dict "running" (dict "startedAt" Now)) }}
{{ if and (not $c.init) (eq (len $undone) 1) }}
phase: Running
{{ end }}
{{ if and $sidecar (not (index $undone 1).init) }}
conditions:` + podCondition("Initialized", "True", none, none) + `{{ end }}` + change),
		},
	}
	startInit := start // and nothing else until it is over
	startInit.name, startInit.when = "pod-start-init", append(slices.Clone(created), plainInit)
	over := stage{
		name:  "pod-init-over",
		when:  []string{notDeleted, living, not(allStarted), current(`.state.running != null`)},
		delay: delay{initRun, 100 * time.Millisecond},
		steps: []any{patch(locate + `{{ $c := first $undone }}
{{ $fields := dict "ready" true "state" (dict "terminated" (dict "exitCode" 0 "reason" "Completed"
  "startedAt" $c.status.state.running.startedAt "finishedAt" Now "containerID" $c.status.containerID)) }}
{{ if not (index $undone 1).init }}
conditions:` + podCondition("Initialized", "True", none, none) + `{{ end }}` + change)},
	}
	running := []string{notDeleted, living, allStarted, allRunning}
	ready := stage{
		name: "pod-ready", when: append(slices.Clone(running), not(holds("ContainersReady"))),
		delay: delay{"ready", d.Ready},
		steps: []any{patch(`
containerStatuses:
{{ range .status.containerStatuses }}
- ` + with(`.`, `(dict "ready" true)`) + `
{{ end }}
{{ $closed := list }}
{{ range .spec.readinessGates }}{{ $gate := .conditionType }}{{ $open := false }}{{ $known := false }}
{{ range $.status.conditions }}{{ if eq .type $gate }}{{ $known = true }}{{ $open = eq .status "True" }}{{ end ` +
			`}}{{ end }}
{{ if not $known }}
{{ $closed = append $closed (printf "corresponding condition of pod readiness gate \"%s\" does not exist." $gate) }}
{{ else if not $open }}
{{ $closed = append $closed (printf "the status of pod readiness gate \"%s\" is not \"True\", but False" $gate) }}
{{ end }}{{ end }}
conditions:` + podCondition("ContainersReady", "True", none, none) +
			`{{ if $closed }}` + podCondition(
			"Ready",
			"False",
			"ReadinessGatesNotReady",
			`{{ if eq (len $closed) 1 }}{{ first $closed | Quote }}{{ else }}{{ printf "[%s]" (join ", " `+
				`$closed) | Quote }}{{ end }}`,
		) +
			`{{ else }}` + podCondition("Ready", "True", none, none) + `{{ end }}`)},
	}
	gates := stage{
		name: "pod-gates-open",
		when: append(slices.Clone(running), holds("ContainersReady"),
			not(holds("Ready")), gatesOpen),
		steps: []any{patch(`conditions:` + podCondition("Ready", "True", none, none))},
	}
	stages := []stage{create, startInit, ready, gates}
	stages = append(stages, then(start, 1)...)
	return append(stages, then(over, 1)...)
}
