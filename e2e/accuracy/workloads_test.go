// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"strings"
)

// db is the manifest of a StatefulSet. more are further fields of its spec.
func db(version, replicas int, ready string, more ...string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: %d
  serviceName: db
  %s
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {lab.lifeline.dev/stop: 100ms, lab.lifeline.dev/ready: %s}}
    spec: {containers: [{name: app, image: "registry.example/db:%d"}]}
`, replicas, strings.Join(more, "\n  "), ready, version)
}

func twoDBs(s *stage) {
	s.apply(userA, db(1, 2, "100ms"))
	s.rolled("statefulset/db")
}

// agent is the manifest of a DaemonSet for one node.
func agent(version int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}, annotations: {lab.lifeline.dev/stop: 100ms}}
    spec:
      nodeSelector: {kubernetes.io/hostname: node-0}
      containers: [{name: app, image: "registry.example/agent:%d"}]
`, version)
}

func oneAgent(s *stage) {
	s.apply(userA, agent(1))
	s.rolled("daemonset/agent")
}

// once is the manifest of a Job. more are further fields of its spec, notes configure its Pods.
func once(notes string, more ...string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  %s
  template:
    metadata: {annotations: {%s}}
    spec:
      restartPolicy: Never
      containers: [{name: app, image: "registry.example/once:1"}]
`, strings.Join(more, "\n  "), notes)
}

// tick is a suspended CronJob that keeps one successful run.
const tick = `apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  suspend: true
  successfulJobsHistoryLimit: 1
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: app, image: "registry.example/tick:1"}]
`

// working creates a Job whose Pods take a few seconds, and waits for the first one.
func (s *stage) working(more ...string) {
	s.t.Helper()
	s.apply(userA, once("lab.lifeline.dev/run: 15s", more...))
	s.await("jsonpath={.status.ready}", "job/once")
	s.settle()
}

const solo = `apiVersion: v1
kind: Pod
metadata: {name: solo, labels: {app: solo}, annotations: {lab.lifeline.dev/stop: 100ms}}
spec: {containers: [{name: app, image: "registry.example/solo:1"}]}
`

var workloads = []scenario{
	{
		name: "A StatefulSet is created",
		play: twoDBs,
		want: []string{"user-a create StatefulSet db converged: create ControllerRevision, create Pod ×2"},
	},
	{
		name:    "A StatefulSet is scaled by two people",
		scenery: twoDBs,
		play: func(s *stage) {
			s.as(userB, "scale", "statefulset/db", "--replicas=3")
			s.rolled("statefulset/db")
			s.as(userC, "scale", "statefulset/db", "--replicas=1")
			s.settle()
		},
		want: []string{
			"user-b update StatefulSet db converged: create Pod",
			"user-c update StatefulSet db converged: delete Pod ×2",
		},
	},
	{
		name:    "A StatefulSet gets a new image",
		scenery: twoDBs,
		play: func(s *stage) {
			s.as(userB, "set", "image", "statefulset/db", "app=registry.example/db:2")
			s.rolled("statefulset/db")
		},
		want: []string{
			"user-b update StatefulSet db converged: create ControllerRevision, create Pod ×2, delete Pod ×2",
		},
	},
	{
		name: "A Pod is deleted while its StatefulSet starts",
		play: func(s *stage) {
			s.apply(userA, db(1, 2, "3s"))
			s.await("create", "pod/db-0")
			s.await("jsonpath={.status.phase}=Running", "pod/db-0")
			s.as(userB, "delete", "pod", "db-0")
			s.rolled("statefulset/db")
		},
		want: []string{
			"user-a create StatefulSet db converged: create ControllerRevision, create Pod ×2",
			"user-b delete Pod db-* deleted",
			"statefulset-controller create Pod db-* converged",
		},
	},
	{
		name:    "A partition is lowered",
		scenery: twoDBs,
		play: func(s *stage) {
			s.as(userA, "patch", "statefulset/db", "-p",
				`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}}}`)
			s.settle()
			s.as(userB, "set", "image", "statefulset/db", "app=registry.example/db:2")
			s.settle()
			s.as(userC, "patch", "statefulset/db", "-p",
				`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}}}`)
			s.rolled("statefulset/db")
		},
		want: []string{
			"user-a update StatefulSet db converged",
			"user-b update StatefulSet db converged: create ControllerRevision",
			"user-c update StatefulSet db converged: create Pod, delete Pod",
		},
	},
	{
		name: "Pods are updated when they are deleted",
		scenery: func(s *stage) {
			s.apply(userA, db(1, 1, "100ms", "updateStrategy: {type: OnDelete}"))
			s.await("jsonpath={.status.availableReplicas}=1", "statefulset/db")
			s.settle()
		},
		play: func(s *stage) {
			s.as(userB, "set", "image", "statefulset/db", "app=registry.example/db:2")
			s.settle()
			s.as(userC, "delete", "pod", "db-0")
			s.await("create", "pod/db-0")
			s.await("condition=Ready", "pod/db-0")
		},
		want: []string{
			"user-b update StatefulSet db converged: create ControllerRevision",
			"user-c delete Pod db-* deleted",
			"statefulset-controller create Pod db-* converged",
		},
	},
	{
		name:    "A StatefulSet is deleted",
		scenery: twoDBs,
		play: func(s *stage) {
			s.as(userC, "delete", "statefulset/db")
			s.await("delete", "pod/db-0")
		},
		want: []string{"user-c delete StatefulSet db deleted: delete ControllerRevision, delete Pod ×2"},
	},
	{
		name: "A DaemonSet is created",
		play: oneAgent,
		want: []string{"user-a create DaemonSet agent converged: create ControllerRevision, create Pod"},
	},
	{
		name:    "A DaemonSet gets a new image",
		scenery: oneAgent,
		play: func(s *stage) {
			s.as(userB, "set", "image", "daemonset/agent", "app=registry.example/agent:2")
			s.rolled("daemonset/agent")
		},
		want: []string{
			"user-b update DaemonSet agent converged: create ControllerRevision, create Pod, delete Pod",
		},
	},
	{
		name:    "A DaemonSet's Pod is deleted",
		scenery: oneAgent,
		play: func(s *stage) {
			s.as(userC, "delete", "pod", s.get("pods", "app=agent")[0])
			s.rolled("daemonset/agent")
		},
		want: []string{
			"user-c delete Pod agent-* deleted",
			"daemon-set-controller create Pod agent-* converged",
		},
	},
	{
		name: "A Job completes",
		play: func(s *stage) {
			s.apply(userA, once(""))
			s.await("condition=Complete", "job/once")
		},
		want: []string{"user-a create Job once converged: create Pod"},
	},
	{
		name: "A Job fails",
		play: func(s *stage) {
			s.apply(userA, once(`lab.lifeline.dev/exit-code: "1"`, "backoffLimit: 0"))
			s.await("condition=Failed", "job/once")
		},
		want: []string{"user-a create Job once failed: create Pod"},
	},
	{
		name: "Somebody else resumes a Job",
		play: func(s *stage) {
			s.apply(userA, once("", "suspend: true"))
			s.await("condition=Suspended", "job/once")
			s.settle()
			s.as(userB, "patch", "job/once", "-p", `{"spec":{"suspend":false}}`)
			s.await("condition=Complete", "job/once")
		},
		want: []string{
			"user-a create Job once converged",
			"user-b update Job once converged: create Pod",
		},
	},
	{
		// The fourth Pod follows the first one, which the creation wanted.
		name: "Somebody else lets more Pods of a Job run at a time",
		play: func(s *stage) {
			s.working("parallelism: 1", "completions: 4")
			s.as(userB, "patch", "job/once", "-p", `{"spec":{"parallelism":3}}`)
			s.await("condition=Complete", "job/once")
		},
		want: []string{
			"user-a create Job once converged: create Pod ×2",
			"user-b update Job once converged: create Pod ×2",
		},
	},
	{
		name:    "Somebody else gives an Indexed Job more indexes",
		scenery: func(s *stage) { s.working("completionMode: Indexed", "parallelism: 2", "completions: 2") },
		play: func(s *stage) {
			s.as(userB, "patch", "job/once", "-p", `{"spec":{"parallelism":4,"completions":4}}`)
			s.await("condition=Complete", "job/once")
		},
		want: []string{"user-b update Job once converged: create Pod ×2"},
	},
	{
		name:    "Somebody else takes indexes from an Indexed Job",
		scenery: func(s *stage) { s.working("completionMode: Indexed", "parallelism: 3", "completions: 3") },
		play: func(s *stage) {
			s.as(userB, "patch", "job/once", "-p", `{"spec":{"parallelism":2,"completions":2}}`)
			s.await("condition=Complete", "job/once")
		},
		want: []string{"user-b update Job once converged: delete Pod"},
	},
	{
		name:    "Two people suspend and resume a running Job",
		scenery: func(s *stage) { s.working("parallelism: 2", "completions: 2") },
		play: func(s *stage) {
			s.as(userB, "patch", "job/once", "-p", `{"spec":{"suspend":true}}`)
			s.await("condition=Suspended", "job/once")
			s.settle()
			s.as(userC, "patch", "job/once", "-p", `{"spec":{"suspend":false}}`)
			s.await("condition=Complete", "job/once")
		},
		want: []string{
			"user-b update Job once converged: delete Pod ×2",
			"user-c update Job once converged: create Pod ×2",
		},
	},
	{
		name: "Somebody else edits a running Job",
		play: func(s *stage) {
			s.working("parallelism: 1", "completions: 2")
			s.as(userB, "patch", "job/once", "-p", `{"spec":{"backoffLimit":2}}`)
			s.await("condition=Complete", "job/once")
		},
		want: []string{
			"user-a create Job once converged: create Pod ×2",
			"user-b update Job once converged",
		},
	},
	{
		name:    "A Job is deleted",
		scenery: func(s *stage) { s.apply(userA, once("")); s.await("condition=Complete", "job/once"); s.settle() },
		play:    func(s *stage) { s.as(userB, "delete", "job/once", "--cascade=foreground") },
		want:    []string{"user-b delete Job once deleted: delete Pod"},
	},
	{
		name: "A Job of two Pods",
		play: func(s *stage) {
			s.apply(userA, once("", "parallelism: 2", "completions: 2"))
			s.await("condition=Complete", "job/once")
		},
		want: []string{"user-a create Job once converged: create Pod ×2"},
	},
	{
		// The removal of an old run belongs to the run that pushed it out.
		name: "A CronJob runs twice",
		scenery: func(s *stage) {
			s.apply(userA, tick)
		},
		play: func(s *stage) {
			s.as(userB, "patch", "cronjob/tick", "-p", `{"spec":{"suspend":false}}`)
			s.succeeds("cronjob/tick")
			s.succeeds("cronjob/tick")
			s.as(userA, "patch", "cronjob/tick", "-p", `{"spec":{"suspend":true}}`)
		},
		want: []string{
			"user-b update CronJob tick converged",
			"cronjob-controller create Job tick-* converged: create Pod",
			"cronjob-controller create Job tick-* converged: create Pod, delete Job, delete Pod",
			"user-a update CronJob tick converged",
		},
	},
	{
		name: "A CronJob is run by hand",
		play: func(s *stage) {
			s.as(userA, "create", "cronjob", "tick", "--image=registry.example/tick:1", "--schedule=0 0 1 1 *")
			s.settle()
			s.as(userB, "create", "job", "now", "--from=cronjob/tick")
			s.await("condition=Complete", "job/now")
		},
		want: []string{
			"user-a create CronJob tick converged",
			"user-b create Job now converged: create Pod",
		},
	},
	{
		name: "A Pod without an owner",
		play: func(s *stage) {
			s.apply(userA, solo)
			s.await("condition=Ready", "pod/solo")
			s.settle()
			s.as(userB, "label", "pod/solo", "tier=b")
			s.settle()
			s.as(userC, "delete", "pod/solo")
		},
		want: []string{
			"user-a create Pod solo converged",
			"user-b update Pod solo converged",
			"user-c delete Pod solo deleted",
		},
	},
	{
		name: "A running Pod is deleted at once",
		scenery: func(s *stage) {
			s.apply(userA, solo)
			s.await("condition=Ready", "pod/solo")
		},
		play: func(s *stage) { s.as(userB, "delete", "pod/solo", "--force", "--grace-period=0") },
		want: []string{"user-b delete Pod solo deleted"},
	},
	{
		name: "A deletion is forced by somebody else",
		scenery: func(s *stage) {
			s.apply(userA, strings.Replace(solo, "100ms", "30s", 1))
			s.await("condition=Ready", "pod/solo")
			s.settle()
		},
		play: func(s *stage) {
			s.as(userB, "delete", "pod/solo", "--wait=false", "--grace-period=60")
			s.as(userC, "delete", "pod/solo", "--force", "--grace-period=0")
		},
		want: []string{"user-b delete Pod solo deleted"},
	},
}
