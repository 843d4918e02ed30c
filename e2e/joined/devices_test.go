// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kube-lifeline/lifeline/e2e/internal/deviceplugin"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

const deviceResource = "lifeline.test/device"

// withDevice returns the manifest of a Deployment whose Pod has a device.
func withDevice(namespace, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: %[2]q, resources: {limits: {%[3]s: "1"}}}]
`, namespace, image, deviceResource)
}

// TestDevices: a Pod has a device of a device plugin. The allocation is below the Pod's phase `sandbox`, and the
// preparation of the container below the Pod.
func TestDevices(t *testing.T) {
	plugins, err := os.MkdirTemp("", "plugins") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(plugins) })
	s := serve(t, spans())
	runProxy(t, "lifeline-device-proxy", filepath.Join(plugins, "kubelet.sock"), "--plugins="+plugins)
	(&deviceplugin.Plugin{Resource: deviceResource}).Start(t, plugins)
	if _, err := os.Stat(filepath.Join(api.DevicePluginPath, "lifeline-lifeline-test.sock")); err != nil {
		t.Errorf("the kubelet does not call the proxy: %v", err)
	}
	ns := bench.Namespace(t)
	bench.MustKubectl(t, withDevice(ns, image(t)), "apply", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "rollout", "status", "deployment/web", "--timeout=4m")

	const allocate, prepare = "v1beta1.DevicePlugin/Allocate", "v1beta1.DevicePlugin/PreStartContainer"
	var tr *harness.Trace
	harness.Eventually(t, "the calls to the device plugin in the trace of the change", func() bool {
		for _, tr = range s.Workloads(t, ns) {
			if len(tr.Find(allocate, "")) > 0 && len(tr.Find(prepare, "")) > 0 {
				return true
			}
		}
		return false
	})
	byID := map[string]*harness.Span{}
	for _, s := range tr.Spans {
		byID[s.ID] = s
	}
	for name, phase := range map[string]string{allocate: "sandbox", prepare: "reconcile Pod"} {
		calls := tr.Find(name, "")
		if len(calls) != 1 {
			t.Errorf("the trace has %d spans %s", len(calls), name)
		}
		call := calls[0]
		up := byID[call.Parent]
		if up == nil || up.Name != phase || up.Attributes["k8s.object.uid"] != call.Attributes["k8s.pod.uid"] {
			t.Errorf("%s is not below %s of its Pod, but below %v", name, phase, up)
		}
		for key, want := range map[string]string{
			"k8s.device.resource": deviceResource, "k8s.container.name": "web", "rpc.response.status_code": "OK",
			"lifeline.evidence": "identity",
		} {
			if call.Attributes[key] != want {
				t.Errorf("%s has %s=%q, want %q", name, key, call.Attributes[key], want)
			}
		}
	}
	examine(t, s, anyCode, map[string]finding{"device plugins": {status: "ok", found: " calls"}})
}
