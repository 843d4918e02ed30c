// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// startPatience bounds the start of the cluster. The first one builds containerd and metrics-server.
const startPatience = 20 * time.Minute

// TestAccuracyOnNode plays the scenarios for a real node, on a separate cluster.
func TestAccuracyOnNode(t *testing.T) {
	harness.Slow(t)
	manifests := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	on, err := harness.Start(ctx, lab.Options{
		AddOns: []lab.AddOn{lab.Metrics}, Nodes: lab.NodesReal, Users: users(),
		ExtraArgs: map[lab.Component][]string{
			lab.ControllerManager: {"--horizontal-pod-autoscaler-sync-period=5s"},
			// With static CPUs, the resize of a Guaranteed Pod is infeasible.
			lab.Kubelet: {"--pod-manifest-path=" + manifests, "--cpu-manager-policy=static", "--kube-reserved=cpu=50m"},
		},
	})
	if errors.Is(err, lab.ErrNeedsRoot) {
		t.Skipf("SKIP: scenarios on a real node need root: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := on.Stop(); err != nil {
			t.Error(err)
		}
	})
	measure(t, on, realNode, onNode(manifests))
}

// onNode are changes that need a kubelet.
func onNode(manifests string) []scenario {
	static := directory(manifests)
	return []scenario{
		{
			name: "A Deployment is created and gets a new image",
			play: func(s *stage) {
				realOne(s)
				s.as(userB, "set", "image", "deployment/web", "app="+s.Image("app:v2"))
				s.rolled("deployment/web")
			},
			want: []string{
				"user-a create Deployment web converged: create Pod, create ReplicaSet",
				"user-b update Deployment web converged" + rollout,
			},
		},
		{
			name: "A Deployment is deleted whose container stops slowly",
			scenery: func(s *stage) {
				s.apply(userA, strings.Replace(s.real("app:v1", "env: [{name: TERM_DELAY, value: 4s}]"),
					"PeriodSeconds: 1", "PeriodSeconds: 10", 1))
				s.rolled("deployment/web")
			},
			play: func(s *stage) {
				before := s.get("pods", "app=web")
				s.as(userB, "delete", "deployment/web")
				s.await("delete", "pod/"+before[0])
			},
			want: []string{"user-b delete Deployment web deleted: delete Pod, delete ReplicaSet"},
		},
		{
			name:    "A Pod is resized by two people",
			scenery: func(s *stage) { s.ready("solo", 10) },
			play: func(s *stage) {
				s.resize(userB, "solo", 20)
				s.resized("solo", 20)
				s.resize(userC, "solo", 10)
				s.resized("solo", 10)
			},
			want: []string{"user-b update Pod solo converged", "user-c update Pod solo converged"},
		},
		{
			name: "A Pod of a Deployment is resized",
			scenery: func(s *stage) {
				s.apply(userA, s.real("app:v1", "resources: {requests: {cpu: 10m}}"))
				s.rolled("deployment/web")
			},
			play: func(s *stage) {
				pod := s.get("pods", "app=web")[0]
				s.resize(userB, pod, 20)
				s.resized(pod, 20)
			},
			want: []string{"user-b update Pod web-A-* converged"},
		},
		{
			// The kubelet does not try an infeasible resize again.
			name: "An infeasible resize is undone by somebody else",
			scenery: func(s *stage) {
				s.apply(userA, guaranteed(s.pod("solo", 10), 10))
				s.await("condition=Ready", "pod/solo")
			},
			play: func(s *stage) {
				s.as(userB, "patch", "pod/solo", "--subresource=resize", "-p", limits(20))
				s.pending("solo", "Infeasible")
				s.as(userC, "patch", "pod/solo", "--subresource=resize", "-p", limits(10))
				s.await("jsonpath={.status.observedGeneration}=3", "pod/solo")
			},
			want: []string{"user-b update Pod solo failed", "user-c update Pod solo converged"},
		},
		{
			name:    "A resize beyond the node is refused",
			scenery: func(s *stage) { s.ready("solo", 10) },
			play: func(s *stage) {
				s.refused(userB, "patch", "pod/solo", "--subresource=resize", "-p", limits(1_000_000))
			},
			refusals: []string{"user-b update Pod solo refused"},
		},
		{
			// The kubelet tries a deferred resize again.
			name:    "A resize waits for the deletion of another Pod",
			scenery: func(s *stage) { s.ready("large", s.most()); s.ready("solo", 10) },
			play: func(s *stage) {
				s.resize(userB, "solo", s.most())
				s.pending("solo", "Deferred")
				s.as(userC, "delete", "pod/large")
				s.resized("solo", s.most())
			},
			want: []string{"user-b update Pod solo converged", "user-c delete Pod large deleted"},
		},
		{
			name:    "An ephemeral container",
			scenery: func(s *stage) { s.ready("solo", 10) },
			play: func(s *stage) {
				s.as(userB, "debug", "pod/solo", "--image="+s.Image("web:1"), "--container=debugger")
				s.await("jsonpath={.status.ephemeralContainerStatuses[0].state.running}", "pod/solo")
			},
			want: []string{"user-b update Pod solo converged"},
		},
		{
			name:    "An ephemeral container without an image",
			scenery: func(s *stage) { s.ready("solo", 10) },
			play: func(s *stage) {
				s.as(userB, "debug", "pod/solo", "--image="+s.Image("missing:1"), "--container=debugger")
				s.undebugged("solo")
				s.as(userC, "delete", "pod/solo")
			},
			want: []string{"user-b update Pod solo superseded", "user-c delete Pod solo deleted"},
		},
		{
			// The first container stays without an image, beside all later changes.
			name:    "An ephemeral container without an image, another one and a resize",
			scenery: func(s *stage) { s.ready("solo", 10) },
			play: func(s *stage) {
				s.as(userB, "debug", "pod/solo", "--image="+s.Image("missing:1"), "--container=debugger")
				s.undebugged("solo")
				s.as(userC, "debug", "pod/solo", "--image="+s.Image("web:1"), "--container=other")
				s.await(`jsonpath={.status.ephemeralContainerStatuses[?(@.name=="other")].state.running}`, "pod/solo")
				s.settle()
				s.resize(userA, "solo", 20)
				s.resized("solo", 20)
			},
			want: []string{
				"user-b update Pod solo superseded",
				"user-c update Pod solo converged",
				"user-a update Pod solo converged",
			},
		},
		{
			name: "A static Pod is made, edited and removed",
			play: func(s *stage) {
				static.write(s, s.pod("solo", 10))
				uid := s.mirrored("")
				static.write(s, s.pod("solo", 20))
				s.mirrored(uid)
				static.remove(s)
				s.await("delete", mirror)
			},
			want: []string{
				"node:node-0 create Pod solo-node-0 converged",
				"node:node-0 create Pod solo-node-0 converged: delete Pod",
				"node:node-0 delete Pod solo-node-0 deleted",
			},
		},
		{
			name: "A mirror Pod is deleted by somebody",
			scenery: func(s *stage) {
				static.write(s, s.pod("solo", 10))
				s.mirrored("")
			},
			play: func(s *stage) {
				uid := s.mirrored("")
				s.as(userB, "delete", mirror, "--wait=false")
				s.mirrored(uid)
			},
			want: []string{
				"user-b delete Pod solo-node-0 deleted",
				"node:node-0 create Pod solo-node-0 converged",
			},
		},
		{
			name:    "A crash loop is repaired by somebody else",
			scenery: realOne,
			play: func(s *stage) {
				s.apply(userA, s.real("app:v1", crashing("100ms")+", "+unready))
				s.stuck("web", "CrashLoopBackOff")
				s.apply(userB, s.real("app:v2", ""))
				s.rolled("deployment/web")
			},
			want: []string{
				"user-a update Deployment web superseded: create Pod, create ReplicaSet",
				"user-b update Deployment web converged: create Pod, create ReplicaSet, delete Pod ×2, update " +
					"ReplicaSet ×2",
			},
		},
		{
			// The container is ready for a moment, so the rollout goes on, and its Pod fails later.
			name:    "A crash loop without a probe is undone by somebody else",
			scenery: realOne,
			play: func(s *stage) {
				s.apply(userA, s.real("app:v1", crashing("1500ms")))
				s.stuck("web", "CrashLoopBackOff")
				s.as(userB, "rollout", "undo", "deployment/web")
				s.rolled("deployment/web")
			},
			want: []string{
				"user-a update Deployment web failed" + rollout,
				"user-b update Deployment web converged: create Pod, delete Pod, update ReplicaSet ×2",
			},
		},
		{
			name:    "An image is missing, and somebody else corrects its name",
			scenery: realOne,
			play: func(s *stage) {
				s.as(userA, "set", "image", "deployment/web", "app="+s.Image("app:missing"))
				s.stuck("web", "ImagePullBackOff")
				s.as(userB, "set", "image", "deployment/web", "app="+s.Image("app:v2"))
				s.rolled("deployment/web")
			},
			want: []string{
				"user-a update Deployment web superseded: create Pod, create ReplicaSet",
				"user-b update Deployment web converged: create Pod, create ReplicaSet, delete Pod ×2, update " +
					"ReplicaSet ×2",
			},
		},
		{
			// The tag is not changed: the kubelet tries again, and the change goes on.
			name: "An image is missing, and is pushed later",
			play: func(s *stage) {
				s.apply(userA, s.real("late:"+s.ns, ""))
				s.stuck("web", "ImagePullBackOff")
				if _, err := s.PushImage(s.t.Context(), "late:"+s.ns, testimage.Spec{Seed: 1}); err != nil {
					s.t.Fatal(err)
				}
				s.rolled("deployment/web")
			},
			want: []string{"user-a create Deployment web converged: create Pod, create ReplicaSet"},
		},
		{
			// The controller does not replace a Pod that was never ready. A person must delete it.
			name: "A StatefulSet with a missing image is repaired by two people",
			scenery: func(s *stage) {
				s.apply(userA, s.realDB("app:v1"))
				s.rolled("statefulset/db")
			},
			play: func(s *stage) {
				s.apply(userA, s.realDB("app:missing"))
				s.stuck("db", "ImagePullBackOff")
				s.settle()
				s.apply(userB, s.realDB("app:v2"))
				s.settle()
				s.as(userC, "delete", "pod/db-0")
				s.rolled("statefulset/db")
			},
			want: []string{
				"user-a update StatefulSet db superseded: create ControllerRevision, create Pod, delete Pod",
				"user-b update StatefulSet db converged: create ControllerRevision",
				"user-c delete Pod db-* deleted",
				"statefulset-controller create Pod db-* converged",
			},
		},
		{
			name: "A container crashes once in a while",
			scenery: func(s *stage) {
				s.apply(userA, s.real("app:v1", crashing("20s")))
				s.rolled("deployment/web")
				time.Sleep(10 * time.Second) // a shorter time ready is no convergence
			},
			play: func(s *stage) {
				harness.Eventually(s.t, "a restart", func() bool {
					return s.MustKubectl(s.t, "", "-n", s.ns, "get", "pods",
						"-o", "jsonpath={.items[0].status.containerStatuses[0].restartCount}") == "1"
				})
				s.rolled("deployment/web")
			},
		},
		{
			name: "A Job is tried again and fails",
			play: func(s *stage) {
				s.apply(userA, fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  backoffLimit: 1
  template:
    spec:
      restartPolicy: Never
      containers: [{name: app, image: "%s", %s}]
`, s.Image("app:v1"), crashing("1s")))
				s.await("condition=Failed", "job/once")
			},
			want: []string{"user-a create Job once failed: create Pod ×2"},
		},
		{
			name: "A measured load raises the number, and its end lowers it",
			scenery: func(s *stage) {
				s.apply(userA, s.real("app:v1", "resources: {requests: {cpu: 50m}}"))
				s.rolled("deployment/web")
				s.apply(userB, addon.Scaler)
				s.await("condition=ScalingActive", "hpa/web")
			},
			play: func(s *stage) {
				s.as(userC, "set", "env", "deployment/web", "BUSY=60s")
				s.await("jsonpath={.spec.replicas}=2", "deployment/web")
				s.rolled("deployment/web")
				s.await("jsonpath={.spec.replicas}=1", "deployment/web")
				s.pods(1)
			},
			want: []string{
				"user-c update Deployment web converged" + rollout,
				"horizontal-pod-autoscaler update Deployment web converged: create Pod, update ReplicaSet",
				"horizontal-pod-autoscaler update Deployment web converged: delete Pod, update ReplicaSet",
			},
		},
		{
			name: "A mounted ConfigMap is edited, and its checksum in the template by somebody else",
			scenery: func(s *stage) {
				s.apply(userA, settings)
				s.apply(userA, mounting(s.real("app:v1", "")))
				s.rolled("deployment/web")
			},
			play: func(s *stage) {
				s.as(userB, "patch", "configmap/settings", "-p", `{"data":{"level":"2"}}`)
				s.settle()
				s.as(userC, "patch", "deployment/web", "-p",
					`{"spec":{"template":{"metadata":{"annotations":{"checksum/settings":"2"}}}}}`)
				s.rolled("deployment/web")
			},
			want: []string{
				"user-b update ConfigMap settings converged",
				"user-c update Deployment web converged" + rollout,
			},
			links: []string{"Deployment web config ConfigMap settings"},
		},
	}
}
