// SPDX-License-Identifier: Apache-2.0

package kwok

import "fmt"

// The Go templates that stages render. KWOK gives them the object as it was
// before the stage, the functions of sprig, and Now, Quote, NodeIPWith and
// PodIPWith.

// locate sets $undone to the containers of the jq expression undone, as dictionaries. Each has the container's list in
// the status, its index, spec and status, and its path in Events.
const locate = `{{ $undone := list }}
{{ range $i, $s := .status.initContainerStatuses }}
{{ $over := and $s.state.terminated (eq (toString (dig "terminated" "exitCode" 1 $s.state)) "0") }}
{{ if not (or $s.started $over) }}
{{ $undone = append $undone (dict "init" true "index" $i "status" $s "spec" (index $.spec.initContainers $i)
  "field" (printf "spec.initContainers{%s}" $s.name)) }}
{{ end }}{{ end }}
{{ range $i, $s := .status.containerStatuses }}
{{ if not (or $s.state.running $s.state.terminated) }}
{{ $undone = append $undone (dict "init" false "index" $i "status" $s "spec" (index $.spec.containers $i)
  "field" (printf "spec.containers{%s}" $s.name)) }}
{{ end }}{{ end }}
`

// change renders both lists of container statuses, with the fields that the
// template sets in $fields changed in the first undone container.
var change = `
{{ $current := first $undone }}
initContainerStatuses:
{{ range $i, $s := .status.initContainerStatuses }}
- {{ if and $current.init (eq $i $current.index) }}` + with(`$s`, `$fields`) + `{{ else }}{{ $s | toJson }}{{ end }}
{{ end }}
containerStatuses:
{{ range $i, $s := .status.containerStatuses }}
- {{ if and (not $current.init) (eq $i $current.index) ` +
	`}}` + with(`$s`, `$fields`) + `{{ else }}{{ $s | toJson }}{{ end }}
{{ end }}
`

// with renders a dictionary with some fields replaced, as JSON. (Sprig's merge
// would mix the old state into the new.)
func with(dictionary, fields string) string {
	return `{{ $d := ` + dictionary + ` }}{{ range $k, $v := ` + fields + ` }}{{ $_ := set $d $k $v }}{{ end ` +
		`}}{{ $d | toJson }}`
}

// containerID sets $id to the ID of a container that was restarted n times.
func containerID(name, restarts string) string {
	return fmt.Sprintf(`{{ $id := printf "containerd://%%s" (sha256sum (printf "%%s %%s %%v" .metadata.uid %s %s)) }}`,
		name, restarts)
}

// podCondition renders one condition of a Pod. reason and message are
// templates that render to YAML values.
func podCondition(kind, status, reason, message string) string {
	return fmt.Sprintf(`
- type: %s
  status: %q
  reason: %s
  message: %s
  lastProbeTime: null
  lastTransitionTime: {{ Now | Quote }}
  observedGeneration: {{ .metadata.generation }}
`, kind, status, reason, message)
}

const none = `""`

// notReady renders the conditions of a Pod some of whose containers are not
// ready; $unready lists their names.
var notReady = podCondition("Ready", "False", "ContainersNotReady", unreadyMessage) +
	podCondition("ContainersReady", "False", "ContainersNotReady", unreadyMessage)

const unreadyMessage = `{{ printf "containers with unready status: [%s]" (join " " $unready) | Quote }}`

// allUnready sets $unready to all containers.
const allUnready = `{{ $unready := list }}{{ range .spec.containers }}{{ $unready = append $unready .name }}{{ end }}
`

// event is a step that creates an Event as a kubelet's recorder does. message
// and field are template expressions; before is a template that declares what
// they use.
func event(kind, reason, before, message, field string) any {
	return map[string]any{"apply": map[string]any{"template": before + fmt.Sprintf(`
{{ $second := dateInZone "2006-01-02T15:04:05Z" now "UTC" }}
apiVersion: v1
kind: Event
metadata:
  name: {{ printf "%%s.%%x" .metadata.name now.UnixNano | Quote }}
  namespace: {{ .metadata.namespace | Quote }}
involvedObject:
  apiVersion: v1
  kind: Pod
  namespace: {{ .metadata.namespace | Quote }}
  name: {{ .metadata.name | Quote }}
  uid: {{ .metadata.uid | Quote }}
  resourceVersion: {{ .metadata.resourceVersion | Quote }}
  fieldPath: {{ %s | Quote }}
type: %s
reason: %s
message: {{ %s | Quote }}
source:
  component: kubelet
  host: {{ .spec.nodeName | Quote }}
firstTimestamp: {{ $second }}
lastTimestamp: {{ $second }}
count: 1
reportingComponent: kubelet
reportingInstance: {{ .spec.nodeName | Quote }}
`, field, kind, reason, message)}}
}

// containerEvent is an Event about the n-th undone container, which message
// may call $c.
func containerEvent(n int, kind, reason, message string) any {
	return event(kind, reason, locate+fmt.Sprintf(`{{ $c := index $undone %d }}`, n), message, `$c.field`)
}
