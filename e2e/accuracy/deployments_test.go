// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"strings"
	"time"
)

// rollout are the effects of a new template on one replica.
const rollout = ": create Pod, create ReplicaSet, delete Pod, update ReplicaSet"

// one is the scenery of a Deployment with one replica.
func one(s *stage) {
	s.apply(userA, web(1, 1))
	s.rolled("deployment/web")
}

// two is the same with two replicas.
func two(s *stage) {
	s.apply(userA, web(1, 2))
	s.rolled("deployment/web")
}

var deployments = []scenario{
	{
		name: "A Deployment is created",
		play: func(s *stage) { two(s) },
		want: []string{"user-a create Deployment web converged: create Pod ×2, create ReplicaSet"},
	},
	{
		name:    "Three people change one label",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "label", "deployment/web", "tier=a")
			s.settle()
			s.as(userB, "label", "deployment/web", "tier=b", "--overwrite")
			s.settle()
			s.as(userC, "label", "deployment/web", "tier-")
		},
		want: []string{
			"user-a update Deployment web converged",
			"user-b update Deployment web converged",
			"user-c update Deployment web converged",
		},
	},
	{
		name:    "Two people change one label in one second",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "label", "deployment/web", "tier=a")
			s.as(userB, "label", "deployment/web", "tier=b", "--overwrite")
		},
		want: []string{"user-a update Deployment web converged", "user-b update Deployment web converged"},
	},
	{
		name:    "An annotation during a rollout",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.as(userB, "annotate", "deployment/web", "note=1")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update Deployment web converged" + rollout,
			"user-b update Deployment web converged",
		},
	},
	{
		name:    "A policy during a rollout",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.as(userB, "patch", "deployment/web", "-p", `{"spec":{"minReadySeconds":1}}`)
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update Deployment web converged" + rollout,
			"user-b update Deployment web converged",
		},
	},
	{
		name:    "Two edits of one template in one second, while paused",
		scenery: func(s *stage) { one(s); s.as(userA, "rollout", "pause", "deployment/web"); s.settle() },
		play: func(s *stage) {
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.as(userB, "set", "image", "deployment/web", "app=registry.example/web:3")
		},
		want: []string{
			"user-a update Deployment web converged|superseded",
			"user-b update Deployment web converged",
		},
	},
	{
		name:    "Somebody else scales up",
		scenery: one,
		play: func(s *stage) {
			s.as(userB, "scale", "deployment/web", "--replicas=3")
			s.rolled("deployment/web")
		},
		want: []string{"user-b update Deployment web converged: create Pod ×2, update ReplicaSet"},
	},
	{
		name:    "Somebody else scales down",
		scenery: func(s *stage) { s.apply(userA, web(1, 3)); s.rolled("deployment/web") },
		play: func(s *stage) {
			s.as(userB, "scale", "deployment/web", "--replicas=1")
			s.rolled("deployment/web")
		},
		want: []string{"user-b update Deployment web converged: delete Pod ×2, update ReplicaSet"},
	},
	{
		name:    "Two people scale in turn",
		scenery: one,
		play: func(s *stage) {
			s.as(userB, "scale", "deployment/web", "--replicas=0")
			s.rolled("deployment/web")
			s.as(userC, "scale", "deployment/web", "--replicas=1")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b update Deployment web converged: delete Pod, update ReplicaSet",
			"user-c update Deployment web converged: create Pod, update ReplicaSet",
		},
	},
	{
		// The controller scales the old ReplicaSet to three before it makes the new one.
		name:    "Template and replicas in one write",
		scenery: two,
		play:    func(s *stage) { s.apply(userB, web(2, 3)); s.rolled("deployment/web") },
		want: []string{
			"user-b update Deployment web converged: create Pod ×4, create ReplicaSet, delete Pod ×3, update " +
				"ReplicaSet",
		},
	},
	{
		name:    "A restart",
		scenery: one,
		play:    func(s *stage) { s.as(userC, "rollout", "restart", "deployment/web"); s.rolled("deployment/web") },
		want:    []string{"user-c update Deployment web converged" + rollout},
	},
	{
		name:    "A rollout and its undo",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.rolled("deployment/web")
			s.as(userB, "rollout", "undo", "deployment/web")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update Deployment web converged" + rollout,
			"user-b update Deployment web converged: create Pod, delete Pod, update ReplicaSet ×2",
		},
	},
	{
		name:    "Pause, two edits, resume",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "rollout", "pause", "deployment/web")
			s.settle()
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.settle()
			s.as(userB, "set", "env", "deployment/web", "A=b")
			s.settle()
			s.as(userC, "rollout", "resume", "deployment/web")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update Deployment web converged",
			"user-a update Deployment web converged",
			"user-b update Deployment web converged",
			"user-c update Deployment web converged" + rollout,
		},
	},
	{
		name:    "A Pod is deleted and replaced",
		scenery: two,
		play: func(s *stage) {
			s.as(userC, "delete", "pod", s.get("pods", "app=web")[0])
			s.rolled("deployment/web")
		},
		want: []string{
			"user-c delete Pod web-A-* deleted",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name:    "A Pod is evicted and replaced",
		scenery: two,
		play: func(s *stage) {
			pod := s.get("pods", "app=web")[0]
			s.given(userB, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+pod+`"}}`,
				"create", "-f", "-", "--raw", "/api/v1/namespaces/"+s.ns+"/pods/"+pod+"/eviction")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b delete Pod web-A-* deleted",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name:    "A collection of Pods is deleted",
		scenery: two,
		play: func(s *stage) {
			s.as(userB, "delete", "--raw", "/api/v1/namespaces/"+s.ns+"/pods?labelSelector=app%3Dweb")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b delete Pod web-A-* deleted",
			"user-b delete Pod web-A-* deleted",
			"replicaset-controller create Pod web-A-* converged",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name:    "A Deployment is deleted in the background",
		scenery: two,
		play: func(s *stage) {
			before := s.get("pods", "app=web")
			s.as(userB, "delete", "deployment/web")
			s.await("delete", "pod/"+before[0])
		},
		want: []string{"user-b delete Deployment web deleted: delete Pod ×2, delete ReplicaSet"},
	},
	{
		name:    "A Deployment is deleted in the foreground",
		scenery: two,
		play:    func(s *stage) { s.as(userB, "delete", "deployment/web", "--cascade=foreground") },
		want:    []string{"user-b delete Deployment web deleted: delete Pod ×2, delete ReplicaSet"},
	},
	{
		name:    "Orphans are adopted",
		scenery: one,
		play: func(s *stage) {
			s.as(userB, "delete", "deployment/web", "--cascade=orphan")
			s.settle()
			s.apply(userC, web(1, 1))
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b delete Deployment web deleted",
			"user-c create Deployment web converged",
		},
	},
	{
		name: "An old ReplicaSet is deleted by hand",
		scenery: func(s *stage) {
			one(s)
			s.as(userA, "set", "image", "deployment/web", "app=registry.example/web:2")
			s.rolled("deployment/web")
		},
		play: func(s *stage) {
			s.as(userB, "delete", "replicaset", s.idle())
		},
		want: []string{"user-b delete ReplicaSet web-A deleted"},
	},
	{
		name:    "A failed rollout and its repair",
		scenery: one,
		play: func(s *stage) {
			bad := web(2, 1, `pull-error: "no such image"`)
			s.apply(userA, hasty(bad))
			s.await("condition=Progressing=false", "deployment/web")
			s.settle()
			s.apply(userB, hasty(web(3, 1)))
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update Deployment web failed: create Pod, create ReplicaSet",
			"user-b update Deployment web converged: create Pod, create ReplicaSet, delete Pod ×2, update " +
				"ReplicaSet ×2",
		},
	},
	{
		name:    "The same manifest again",
		scenery: one,
		play:    func(s *stage) { s.apply(userA, web(1, 1)) },
	},
	{
		name:    "A refused change",
		scenery: one,
		play: func(s *stage) {
			s.refused(userB, "patch", "deployment/web", "-p", `{"spec":{"replicas":-1}}`)
		},
		refusals: []string{"user-b update Deployment web refused"},
	},
	{
		name:    "A heartbeat in an annotation",
		scenery: one,
		play: func(s *stage) {
			for _, beat := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"} {
				s.as(userC, "annotate", "deployment/web", "beat="+beat, "--overwrite")
				time.Sleep(time.Second) // a heartbeat has its own pace
			}
		},
		want: []string{
			"user-c update Deployment web converged",
			"user-c update Deployment web converged",
			"user-c update Deployment web converged",
			"user-c update Deployment web converged",
		},
		series: 6,
	},
	{
		name: "A scaling during a rollout",
		scenery: func(s *stage) {
			s.apply(userA, recreated(web(1, 2)))
			s.rolled("deployment/web")
		},
		play: func(s *stage) {
			s.apply(userA, recreated(web(2, 2, "ready: 3s")))
			s.await("jsonpath={.status.updatedReplicas}=2", "deployment/web")
			s.as(userB, "scale", "deployment/web", "--replicas=3")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update Deployment web converged: create Pod ×2, create ReplicaSet, delete Pod ×2, update " +
				"ReplicaSet",
			"user-b update Deployment web converged: create Pod, update ReplicaSet",
		},
	},
	{
		name:    "A paused Deployment is scaled",
		scenery: func(s *stage) { one(s); s.as(userA, "rollout", "pause", "deployment/web"); s.settle() },
		play: func(s *stage) {
			s.as(userB, "scale", "deployment/web", "--replicas=2")
			s.await("jsonpath={.status.availableReplicas}=2", "deployment/web")
		},
		want: []string{"user-b update Deployment web converged: create Pod, update ReplicaSet"},
	},
	{
		name:    "A rollout that is deleted before it is over",
		scenery: func(s *stage) { one(s) },
		play: func(s *stage) {
			s.apply(userA, web(2, 1, "ready: 30s"))
			s.await("jsonpath={.status.updatedReplicas}=1", "deployment/web")
			s.as(userB, "delete", "deployment/web", "--cascade=foreground")
		},
		want: []string{
			"user-a update Deployment web superseded: create Pod, create ReplicaSet",
			"user-b delete Deployment web deleted: delete Pod ×2, delete ReplicaSet ×2",
		},
	},
	{
		name:    "Deleted and made again under the same name",
		scenery: one,
		play: func(s *stage) {
			s.as(userA, "delete", "deployment/web", "--cascade=foreground")
			s.apply(userB, web(1, 1))
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a delete Deployment web deleted: delete Pod, delete ReplicaSet",
			"user-b create Deployment web converged: create Pod, create ReplicaSet",
		},
	},
	{
		name:    "A replaced manifest",
		scenery: one,
		play: func(s *stage) {
			s.given(userB, web(2, 1), "replace", "-f", "-")
			s.rolled("deployment/web")
		},
		want: []string{"user-b update Deployment web converged" + rollout},
	},
	{
		name:    "Server-side apply by two people",
		scenery: one,
		play: func(s *stage) {
			s.given(
				userB,
				`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"tier":"b"}}}`,
				"apply",
				"--server-side",
				"-f",
				"-",
			)
			s.settle()
			s.given(
				userC,
				`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2}}`,
				"apply",
				"--server-side",
				"--force-conflicts",
				"-f",
				"-",
			)
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b update Deployment web converged",
			"user-c update Deployment web converged: create Pod, update ReplicaSet",
		},
		// kubectl first asks for something that the API server refuses.
		refusals: []string{"user-b update Deployment web refused"},
	},
	{
		name:    "A Pod gets a label",
		scenery: one,
		play:    func(s *stage) { s.as(userB, "label", "pod", s.get("pods", "app=web")[0], "tier=b") },
		want:    []string{"user-b update Pod web-A-* converged"},
	},
	{
		name:    "A Pod is taken out of its ReplicaSet",
		scenery: one,
		play: func(s *stage) {
			s.as(userB, "label", "pod", s.get("pods", "app=web")[0], "app=debug", "--overwrite")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b update Pod web-A-* converged",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name: "A ReplicaSet without a Deployment",
		play: func(s *stage) {
			s.apply(userA, `apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: set}
spec:
  replicas: 2
  selector: {matchLabels: {app: set}}
  template:
    metadata: {labels: {app: set}}
    spec: {containers: [{name: app, image: "registry.example/set:1"}]}
`)
			s.await("jsonpath={.status.availableReplicas}=2", "replicaset/set")
			s.settle()
			s.as(userB, "scale", "replicaset/set", "--replicas=1")
		},
		want: []string{
			"user-a create ReplicaSet set converged: create Pod ×2",
			"user-b update ReplicaSet set converged: delete Pod",
		},
	},
}

// recreated gives a Deployment's manifest the strategy Recreate.
func recreated(manifest string) string {
	return strings.Replace(manifest, "spec:\n", "spec:\n  strategy: {type: Recreate}\n", 1)
}
