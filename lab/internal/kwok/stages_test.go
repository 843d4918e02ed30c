// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq" // what KWOK evaluates the expressions with
)

// TestStages shows Pods in various states and expects exactly the stage that
// comes next: if two applied, KWOK would draw lots.
func TestStages(t *testing.T) {
	const (
		spec     = `"spec":{"restartPolicy":"Always","containers":[{"name":"a","imagePullPolicy":"Always"}]}`
		admitted = `"startTime":"t","observedGeneration":1`
		sandbox  = `,"conditions":[{"type":"PodReadyToStartContainers","status":"True"}]`
		ready    = `,"conditions":[{"type":"PodReadyToStartContainers","status":"True"},` +
			`{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"True"}]`
		creating = `"state":{"waiting":{"reason":"ContainerCreating"}}`
		running  = `"imageID":"i","containerID":"c","started":true,"state":{"running":{"startedAt":"t"}}`
	)
	pod := func(metadata, spec, status string) string {
		return `{"metadata":{"generation":1` + metadata + `},` + spec + `,"status":{` + status + `}}`
	}
	one := func(status string) string { return `,"containerStatuses":[{"name":"a",` + status + `}]` }
	two := `"spec":{"restartPolicy":"Always","initContainers":[{"name":"i","imagePullPolicy":"Never"}],` +
		`"containers":[{"name":"a","imagePullPolicy":"Always"}]}`
	job := `,"ownerReferences":[{"kind":"Job"}]`
	never := strings.Replace(spec, "Always", "Never", 1)
	dying := `,"deletionTimestamp":"t","deletionGracePeriodSeconds":30`
	annotated := func(name, value string) string {
		return `,"annotations":{"` + Annotation + name + `":"` + value + `"}`
	}
	cases := map[string]struct {
		reason string
		pod    string
		want   []string
	}{
		"Bound": {
			reason: "The kubelet admits it.", pod: pod("", spec, `"phase":"Pending"`), want: []string{"pod-admit"},
		},
		"Admitted": {
			reason: "It needs a sandbox, and then an image.",
			pod:    pod("", spec, `"phase":"Pending",`+admitted+one(`"imageID":"",`+creating)),
			want:   []string{"pod-sandbox-then-pull"},
		},
		"AdmittedWithImage": {
			reason: "It needs a sandbox; the init container's image is there.",
			pod: pod(
				"",
				two,
				`"phase":"Pending",`+admitted+`,"initContainerStatuses":[{"name":"i","imageID":"",`+creating+`}]`+
					one(`"imageID":"",`+creating),
			),
			want: []string{"pod-sandbox-then-present"},
		},
		"Pulling": {
			reason: "It waits for the image.",
			pod: pod(
				"",
				spec,
				`"phase":"Pending",`+admitted+sandbox+one(`"imageID":"",`+creating),
			),
			want: []string{"pod-pulled"},
		},
		"PullingInVain": {
			reason: "The image cannot be pulled.",
			pod: pod(
				annotated(pullError, "no"),
				spec,
				`"phase":"Pending",`+admitted+sandbox+one(`"imageID":"",`+creating),
			),
			want: []string{"pod-pull-failed"},
		},
		"PullFailed": {
			reason: "It backs off.",
			pod: pod(annotated(pullError, "no"), spec, `"phase":"Pending",`+admitted+sandbox+
				one(`"imageID":"","state":{"waiting":{"reason":"ErrImagePull"}}`)),
			want: []string{"pod-pull-backoff"},
		},
		"BackedOff": {
			reason: "It tries again, also when the cause was removed.",
			pod: pod("", spec, `"phase":"Pending",`+admitted+sandbox+
				one(`"imageID":"","state":{"waiting":{"reason":"ImagePullBackOff"}}`)),
			want: []string{"pod-pull-again"},
		},
		"Pulled": {
			reason: "The container is created.",
			pod: pod(
				"",
				spec,
				`"phase":"Pending",`+admitted+sandbox+one(`"imageID":"i",`+creating),
			),
			want: []string{"pod-create"},
		},
		"Created": {
			reason: "The only container is started.",
			pod: pod(
				"",
				spec,
				`"phase":"Pending",`+admitted+sandbox+one(`"imageID":"i","containerID":"c",`+creating),
			),
			want: []string{"pod-start-last"},
		},
		"InitCreated": {
			reason: "An init container is started; what comes next has to wait for its end.",
			pod: pod(
				"",
				two,
				`"phase":"Pending",`+admitted+sandbox+`,"initContainerStatuses":[{"name":"i","imageID":"i",`+
					`"containerID":"c",`+
					creating+`}]`+one(
					`"imageID":"",`+creating,
				),
			),
			want: []string{"pod-start-init"},
		},
		"InitRunning": {
			reason: "It ends, and the next image is pulled.",
			pod: pod(
				"",
				two,
				`"phase":"Pending",`+admitted+sandbox+`,"initContainerStatuses":[{"name":"i","imageID":"i",`+
					`"containerID":"c",`+
					`"started":false,"state":{"running":{}}}]`+one(
					`"imageID":"",`+creating,
				),
			),
			want: []string{"pod-init-over-then-pull"},
		},
		"Running": {
			reason: "It becomes ready.",
			pod:    pod("", spec, `"phase":"Running",`+admitted+sandbox+one(running)),
			want:   []string{"pod-ready"},
		},
		"Ready": {
			reason: "Nothing happens any more.", pod: pod("", spec, `"phase":"Running",`+admitted+ready+one(running)),
		},
		"GateOpened": {
			reason: "Its last readiness gate was opened.",
			pod: pod(
				"",
				strings.Replace(spec, `"containers"`, `"readinessGates":[{"conditionType":"g"}],"containers"`, 1),
				`"phase":"Running",`+admitted+`,"conditions":[{"type":"PodReadyToStartContainers","status":"True"},`+
					`{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"False"},{"type":"g",`+
					`"status":"True"}]`+one(running),
			),
			want: []string{"pod-gates-open"},
		},
		"JobReady": {
			reason: "A Job's container ends.",
			pod:    pod(job, never, `"phase":"Running",`+admitted+ready+one(running)),
			want:   []string{"pod-complete"},
		},
		"WillExit": {
			reason: "A container that should run on ends.",
			pod: pod(
				annotated(run, "1s"),
				spec,
				`"phase":"Running",`+admitted+ready+one(running),
			),
			want: []string{"pod-exit"},
		},
		"Exited": {
			reason: "The first time it is restarted at once.",
			pod: pod("", spec, `"phase":"Running",`+admitted+sandbox+
				one(`"restartCount":0,"imageID":"i","state":{"terminated":{"exitCode":1}}`)),
			want: []string{"pod-restart-at-once"},
		},
		"ExitedAgain": {
			reason: "The next time there is a pause.",
			pod: pod("", spec, `"phase":"Running",`+admitted+sandbox+
				one(`"restartCount":1,"imageID":"i","state":{"terminated":{"exitCode":1}}`)),
			want: []string{"pod-crash-loop"},
		},
		"CrashLoop": {
			reason: "After the pause it is restarted.",
			pod: pod("", spec, `"phase":"Running",`+admitted+sandbox+
				one(
					`"restartCount":1,"imageID":"i","containerID":"c",`+
						`"state":{"waiting":{"reason":"CrashLoopBackOff"}}`,
				)),
			want: []string{"pod-restart"},
		},
		"Succeeded": {
			reason: "It is over.",
			pod:    pod("", never, `"phase":"Succeeded",`+admitted+one(`"state":{"terminated":{"exitCode":0}}`)),
		},
		"Deleted": {
			reason: "The Event names its container.",
			pod: strings.Replace(
				pod(dying, spec, `"phase":"Running",`+admitted+ready+one(running)),
				`"generation":1`,
				`"generation":2`,
				1,
			),
			want: []string{"pod-killing-1"},
		},
		"Stopping": {
			reason: "Its container stops.",
			pod:    pod(dying, spec, `"phase":"Running",`+admitted+ready+one(running)),
			want:   []string{"pod-stopped"},
		},
		"Stopped": {
			reason: "It can go.",
			pod: pod(
				dying,
				spec,
				`"phase":"Succeeded",`+admitted+one(`"state":{"terminated":{"exitCode":0}}`),
			),
			want: []string{"pod-gone"},
		},
		"Going": {
			reason: "It was let go already: asking again would delete a successor of its name.",
			pod: pod(`,"deletionTimestamp":"t","deletionGracePeriodSeconds":0`, spec,
				`"phase":"Succeeded",`+admitted+one(`"state":{"terminated":{"exitCode":0}}`)),
		},
	}
	stages := podStages(Delays{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var object any
			if err := json.Unmarshal([]byte(tc.pod), &object); err != nil {
				t.Fatalf("%v in %s", err, tc.pod)
			}
			var got []string
			for _, s := range stages {
				if applies(t, s, object) {
					got = append(got, s.name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nstages that apply: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// applies evaluates a stage's selector as KWOK does.
func applies(t *testing.T, s stage, object any) bool {
	t.Helper()
	for _, expr := range s.when {
		query, err := gojq.Parse(expr)
		if err != nil {
			t.Fatalf("stage %s: %v in %s", s.name, err, expr)
		}
		for results := query.Run(object); ; {
			value, ok := results.Next()
			if !ok {
				return false
			}
			if err, failed := value.(error); failed {
				t.Fatalf("stage %s: %v in %s", s.name, err, expr)
			}
			if value == true {
				break
			}
		}
	}
	return true
}

func TestConfig(t *testing.T) {
	config, err := Config(Delays{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for doc := range bytes.SplitSeq(config, []byte("---\n")) {
		var stage struct {
			Metadata struct{ Name string }
		}
		if bytes.HasPrefix(doc, []byte("{")) {
			if err := json.Unmarshal(doc, &stage); err != nil {
				t.Fatal(err)
			}
			if names[stage.Metadata.Name] {
				t.Errorf("two stages are called %s", stage.Metadata.Name)
			}
			names[stage.Metadata.Name] = true
		}
	}
	if !names["node-ready"] || !names["pod-admit"] {
		t.Errorf("stages: %v, want those of Nodes and of Pods", names)
	}
}
