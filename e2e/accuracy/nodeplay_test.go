// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// real is the manifest of a Deployment with one replica on the real node. more are further fields of
// its container.
func (s *stage) real(tag, more string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: "%s", %s}]
`, s.Image(tag), more)
}

// realOne is the scenery of such a Deployment.
func realOne(s *stage) {
	s.apply(userA, s.real("app:v1", ""))
	s.rolled("deployment/web")
}

// pod is the manifest of a Pod on the real node that requests so many thousandths of a CPU.
func (s *stage) pod(name string, millis int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: NS}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: "%s", resources: {requests: {cpu: %dm}}}]
`, name, s.Image("app:v1"), millis)
}

// ready makes a Pod and waits until it is ready.
func (s *stage) ready(name string, millis int) {
	s.t.Helper()
	s.apply(userA, s.pod(name, millis))
	s.await("condition=Ready", "pod/"+name)
	s.settle()
}

// resize requests so many thousandths of a CPU for the container of a Pod.
func (s *stage) resize(user, pod string, millis int) {
	s.t.Helper()
	s.as(user, "patch", "pod/"+pod, "--subresource=resize", "-p", fmt.Sprintf(
		`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"%dm"}}}]}}`, millis))
}

// limits requests so many thousandths of a CPU and limits the container to them.
func limits(millis int) string {
	return fmt.Sprintf(`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"%[1]dm"},`+
		`"limits":{"cpu":"%[1]dm"}}}]}}`, millis)
}

// guaranteed gives a Pod's manifest the limits of the class Guaranteed.
func guaranteed(manifest string, millis int) string {
	requests := fmt.Sprintf("requests: {cpu: %dm", millis)
	return strings.Replace(manifest, requests+"}",
		fmt.Sprintf("%s, memory: 32Mi}, limits: {cpu: %dm, memory: 32Mi}", requests, millis), 1)
}

// resized waits until the node has given so many thousandths of a CPU.
func (s *stage) resized(pod string, millis int) {
	s.t.Helper()
	s.await(fmt.Sprintf("jsonpath={.status.containerStatuses[0].resources.requests.cpu}=%dm", millis), "pod/"+pod)
	s.settle()
}

// pending waits until the kubelet reports that a resize is Deferred or Infeasible.
func (s *stage) pending(pod, reason string) {
	s.t.Helper()
	s.await(`jsonpath={.status.conditions[?(@.type=="PodResizePending")].reason}=`+reason, "pod/"+pod)
	s.settle()
}

// most is more than half of the node's CPUs, in thousandths.
func (s *stage) most() int {
	s.t.Helper()
	cpus := s.MustKubectl(s.t, "", "get", "nodes", "-o", "jsonpath={.items[0].status.allocatable.cpu}")
	n, err := resource.ParseQuantity(cpus)
	if err != nil {
		s.t.Fatalf("unexpected number of CPUs: %v", err)
	}
	return int(n.MilliValue()) * 6 / 10
}

// stuck waits until a container of the Pods of an application waits for that reason.
func (s *stage) stuck(app, reason string) {
	s.t.Helper()
	harness.Eventually(s.t, "a container in "+reason, func() bool {
		return strings.Contains(s.MustKubectl(s.t, "", "-n", s.ns, "get", "pods", "-l", "app="+app,
			"-o", "jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}"), reason)
	})
}

// undebugged waits until the image of the first ephemeral container of a Pod is missing.
func (s *stage) undebugged(pod string) {
	s.t.Helper()
	s.await("jsonpath={.status.ephemeralContainerStatuses[0].state.waiting.reason}=ImagePullBackOff", "pod/"+pod)
	s.settle()
}

// directory is that of the manifests of static Pods.
type directory string

// write makes or edits the manifest of the scenario.
func (d directory) write(s *stage, manifest string) {
	s.t.Helper()
	hidden := filepath.Join(string(d), "."+s.ns) // the kubelet ignores it
	if err := os.WriteFile(hidden, []byte(strings.ReplaceAll(manifest, "NS", s.ns)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(string(d), s.ns+".yaml")); err != nil {
		s.t.Fatal(err)
	}
}

// remove removes the manifest of the scenario.
func (d directory) remove(s *stage) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(string(d), s.ns+".yaml")); err != nil {
		s.t.Fatal(err)
	}
}

// mirror is the copy of the static Pod solo in the API.
const mirror = "pod/solo-node-0"

// mirrored waits for a ready mirror Pod with another UID than the last one, and returns its UID.
func (s *stage) mirrored(last string) string {
	s.t.Helper()
	uid := ""
	harness.Eventually(s.t, "a new mirror Pod", func() bool {
		uid = s.MustKubectl(s.t, "", "-n", s.ns, "get", mirror, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
		return uid != "" && uid != last
	})
	s.await("condition=Ready", mirror)
	s.settle()
	return uid
}

// realDB is the manifest of a StatefulSet on the real node.
func (s *stage) realDB(tag string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: "%s"}]
`, s.Image(tag))
}

// mounting gives a Deployment's manifest a volume with the ConfigMap settings.
func mounting(manifest string) string {
	return strings.Replace(manifest, "containers: [{", "volumes: [{name: settings, configMap: {name: settings}}]\n"+
		"      containers: [{volumeMounts: [{name: settings, mountPath: /settings}], ", 1)
}

// unready is a probe that the test waits for in vain.
const unready = "readinessProbe: {exec: {command: [/app, ready]}, initialDelaySeconds: 600}"

// crashing is the environment of a container that crashes after that time.
func crashing(after string) string {
	return "env: [{name: LIFETIME, value: " + after + "}, {name: EXIT_CODE, value: '3'}]"
}
