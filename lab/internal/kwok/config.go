// SPDX-License-Identifier: Apache-2.0

// Package kwok configures KWOK to simulate nodes: stages that take a Pod through a kubelet's states
// and emit its Events. Package lab runs KWOK.
//
// KWOK has no memory of a Pod but the Pod itself. So a kubelet's progress is read from fields that
// a kubelet fills in at the same moment: a container's imageID once its image is pulled, its
// containerID once it is created, the Pod's observedGeneration once its deletion was noticed.
package kwok

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Annotation is the prefix of the annotations by which a Pod sets its own
// behaviour: the names of the fields of Delays in lower case, and those below.
const Annotation = "lab.lifeline.dev/"

// Delays are the pace of Pods that do not set their own.
type Delays struct {
	Pull, Create, Start, Ready time.Duration
}

// Options of a Pod beside its delays.
const (
	initRun   = "init"       // how long each init container runs: a duration, else 100ms
	pullError = "pull-error" // pulls fail with this message
	run       = "run"        // the containers exit after this duration; a Job's after a second
	exitCode  = "exit-code"  // with this code, else 0
	backoff   = "backoff"    // the pause before another attempt: a duration, else 10s
	stop      = "stop"       // how long the containers take to stop: a duration, else 50ms
)

// A stage is one step of an object's life. It applies to objects for which
// every jq expression of when is true; exactly one stage may apply at a time.
type stage struct {
	name  string
	kind  string
	when  []string
	delay delay
	steps []any
}

// A delay is the annotation's value, if the Pod has that, or else the default.
type delay struct {
	annotation string
	otherwise  time.Duration
}

// options let many Pods move at once: KWOK's default is four. Once options are
// given, the others have no default.
const options = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 4
  nodeLeaseParallelism: 4
  podsOnNodeSyncParallelism: 1
`

// Config returns KWOK's configuration file.
func Config(delays Delays) ([]byte, error) {
	out := bytes.NewBufferString(options)
	for _, s := range append(nodeStages(), podStages(delays)...) {
		data, err := json.MarshalIndent(s.manifest(), "", " ")
		if err != nil {
			return nil, fmt.Errorf("cannot encode stage %s: %w", s.name, err)
		}
		out.WriteString("---\n")
		out.Write(data)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// manifest is the stage as a kwok.x-k8s.io/v1alpha1 Stage.
func (s stage) manifest() any {
	var expressions []any
	for _, expr := range s.when {
		expressions = append(expressions, map[string]any{
			"jq": map[string]any{"key": expr, "operator": "In", "values": []string{"true"}},
		})
	}
	wait := map[string]any{"durationMilliseconds": s.delay.otherwise.Milliseconds()}
	if s.delay.annotation != "" {
		wait["durationFrom"] = map[string]any{"jq": map[string]any{"expression": annotationOf(s.delay.annotation)}}
	}
	return map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1",
		"kind":       "Stage",
		"metadata":   map[string]any{"name": s.name},
		"spec": map[string]any{
			"resourceRef": map[string]any{"apiGroup": "v1", "kind": s.kind},
			"selector":    map[string]any{"matchExpressions": expressions},
			"delay":       wait,
			"steps":       s.steps,
		},
	}
}

// patch is a step that merges what the template renders into the status.
func patch(template string) any {
	return map[string]any{"patch": map[string]any{"subresource": "status", "root": "status", "template": template}}
}

// remove is a step that deletes the object for good.
func remove() any { return map[string]any{"delete": true} }
