// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/csidriver"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

const csiDriver = "disk.lifeline.test"

// proxy runs lifeline-csi-proxy between the kubelet and a driver until the test ends. It returns the
// socket for the kubelet.
func proxy(t *testing.T, dir, driver string) string {
	t.Helper()
	listen := filepath.Join(dir, "traced.sock")
	runProxy(t, "lifeline-csi-proxy", listen, "--listen=unix://"+listen, "--driver=unix://"+driver)
	return listen
}

// withVolume returns the manifest of a Deployment whose Pod has a volume of the driver.
func withVolume(namespace, image string) string {
	return fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: %[3]s}
spec: {attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: [Persistent]}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: none
  claimRef: {namespace: %[1]s, name: data}
  csi: {driver: %[3]s, volumeHandle: volume-of-%[1]s}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: %[1]s, name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: none
  volumeName: %[1]s
  resources: {requests: {storage: 1Mi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: %[2]q, volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`, namespace, image, csiDriver)
}

// TestVolumes: a Pod has a volume of a CSI driver. The calls of the kubelet to the driver are below the
// phases of the Pod: a refused and a granted staging and the publication below `sandbox`, and the
// unpublication below `terminate`.
func TestVolumes(t *testing.T) {
	dir := filepath.Join(bench.KubeletDir(), "plugins", csiDriver)
	socket := filepath.Join(dir, "csi.sock")
	driver := &csidriver.Driver{Name: csiDriver, Node: "node-0"}
	driver.Start(t, socket)
	s := serve(t, spans())
	driver.Register(t, bench.KubeletDir(), proxy(t, dir, socket))
	driver.Refuse(1)
	ns := bench.Namespace(t)
	t.Cleanup(func() { _, _ = bench.RunKubectl(t.Context(), nil, "delete", "pv", ns, "--ignore-not-found") })
	bench.MustKubectl(t, withVolume(ns, image(t)), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web", "--timeout=4m")

	const stage, publish, unpublish = "csi.v1.Node/NodeStageVolume", "csi.v1.Node/NodePublishVolume",
		"csi.v1.Node/NodeUnpublishVolume"
	var tr *harness.Trace
	harness.Eventually(t, "the calls to the driver in the trace of the change", func() bool {
		for _, tr = range s.Workloads(t, ns) {
			if len(tr.Find(publish, "")) > 0 && len(tr.Find(stage, "")) > 1 {
				return true
			}
		}
		return false
	})
	calls(t, tr, ns, "sandbox", stage, stage, publish)
	if stages := tr.Find(stage, ""); len(stages) == 2 {
		refused, granted := stages[0], stages[1]
		if refused.Attributes["rpc.response.status_code"] == "OK" {
			refused, granted = granted, refused
		}
		if refused.Attributes["rpc.response.status_code"] != "UNAVAILABLE" ||
			granted.Attributes["rpc.response.status_code"] != "OK" || granted.Start.Before(refused.End) {
			t.Errorf("the stagings are %v and %v", refused, granted)
		}
	}

	bench.MustKubectl(t, "", "-n", ns, "delete", "deployment", "web", "--wait", "--timeout=4m")
	harness.Eventually(t, "the unpublication in the trace of the deletion", func() bool {
		for _, tr = range s.Workloads(t, ns) {
			// Until the watch shows the deletion, the call belongs to the change so far.
			if len(tr.Find(unpublish, "")) > 0 && len(tr.Find(stage, "")) == 0 {
				return true
			}
		}
		return false
	})
	calls(t, tr, ns, "terminate", unpublish)
	examine(t, s, anyCode, map[string]finding{"CSI drivers": {status: "ok", found: " calls"}})

	const onNode = `kind == "Pod" && zone == "lab-a" && region == "lab" && runtime.startsWith("containerd://2.")`
	r := bench.Exec(t, "find", onNode, "-n", ns, "--server", "http://"+s.APIAddress(), "-o", "json")
	if !strings.Contains(r.Stdout, `"runtime":"containerd://`) {
		t.Errorf("lifeline find %s: %s%s", onNode, r.Stdout, r.Stderr)
	}
}

// calls checks that the spans with these names are below a Pod's phase, and name the Pod, its volume
// and the driver.
func calls(t *testing.T, tr *harness.Trace, ns, phase string, names ...string) {
	t.Helper()
	byID := map[string]*harness.Span{}
	for _, s := range tr.Spans {
		byID[s.ID] = s
	}
	var got []string
	for _, s := range tr.Spans {
		if !strings.HasPrefix(s.Name, "csi.v1.Node/") || s.Name == "csi.v1.Node/NodeUnstageVolume" {
			continue
		}
		got = append(got, s.Name)
		up := byID[s.Parent]
		if up == nil || up.Name != phase || up.Attributes["k8s.object.uid"] != s.Attributes["k8s.pod.uid"] {
			t.Errorf("%s is not below the phase %s of its Pod, but below %v", s.Name, phase, up)
		}
		for key, want := range map[string]string{
			"container.csi.plugin.name": csiDriver, "container.csi.volume.id": "volume-of-" + ns,
			"lifeline.evidence": "identity",
		} {
			if s.Attributes[key] != want {
				t.Errorf("%s has %s=%q, want %q", s.Name, key, s.Attributes[key], want)
			}
		}
	}
	if len(got) != len(names) {
		t.Errorf("the trace has the calls %v, want %v", got, names)
	}
	t.Logf("below %s: %v", phase, got)
}
