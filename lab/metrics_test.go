// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"strings"
	"testing"
)

// TestMetrics lets a HorizontalPodAutoscaler see the CPU that a Pod uses.
func TestMetrics(t *testing.T) {
	c := startReal(t, Options{AddOns: []AddOn{Metrics}})
	apply(t, c, deployment("busy", 1, c.Image("app:v1"), map[string]string{"BUSY": "10m"}))
	kubectl(t, c, "", "set", "resources", "deployment/busy", "--requests=cpu=50m")
	kubectl(t, c, `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: busy}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: busy}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`, "apply", "-f", "-")
	eventually(t, func() error {
		out, err := c.RunKubectl(t.Context(), nil, "top", "pod", "--no-headers")
		if err == nil && !strings.HasPrefix(out, "busy-") {
			err = fmt.Errorf("kubectl top pod: %q", out)
		}
		return err
	})
	kubectl(t, c, "", "wait", "deployment/busy", "--for=jsonpath={.spec.replicas}=2", "--timeout=4m")
}
