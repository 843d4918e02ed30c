// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// TestAutoscaler records an autoscaler on a real node: a Pod uses CPU for a time, metrics-server
// measures it, and the autoscaler raises and lowers the number of replicas.
func TestAutoscaler(t *testing.T) {
	opts := lab.Options{
		AddOns:    []lab.AddOn{lab.Metrics},
		Nodes:     lab.NodesReal,
		ExtraArgs: map[lab.Component][]string{lab.ControllerManager: {"--horizontal-pod-autoscaler-sync-period=5s"}},
	}
	traces := record(t, "autoscaler.real", opts, func(s *stage) {
		manifest := strings.Replace(web(s.Image("app:v1"), 1), "spec: {containers: [{name: app,",
			"spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, resources: {requests: {cpu: 50m}},", 1)
		s.apply(userA, manifest)
		s.MustKubectl(t, "", "-n", shop, "rollout", "status", "deployment/web", "--timeout=4m")
		s.settle()
		s.apply(userB, addon.Scaler)
		s.await("condition=ScalingActive", "hpa/web")
		s.settle()
		s.as(userC, "set", "env", "deployment/web", "BUSY=60s")
		s.await("jsonpath={.spec.replicas}=2", "deployment/web")
		s.MustKubectl(t, "", "-n", shop, "rollout", "status", "deployment/web", "--timeout=4m")
		s.await("jsonpath={.spec.replicas}=1", "deployment/web")
		harness.Eventually(t, "one Pod", func() bool {
			return len(strings.Fields(s.MustKubectl(t, "", "-n", shop, "get", "pods", "-o", "name"))) == 1
		})
		s.settle()
	})
	decisions := map[string]string{}
	for _, tr := range traces {
		for _, s := range tr.Spans {
			for _, e := range s.Events {
				if s.Attributes["lifeline.autoscaler"] == "HorizontalPodAutoscaler web" && e.Name == "autoscale" {
					decisions[e.Attributes["lifeline.message"]] = s.Name
				}
			}
		}
	}
	for _, decision := range []*regexp.Regexp{
		regexp.MustCompile(`^cpu [1-9][0-9]+% of 80%$`), regexp.MustCompile(`^cpu [0-9]% of 80%$`),
	} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(decisions)), decision.MatchString) {
			t.Errorf("no decision %s in %v", decision, decisions)
		}
	}
	expect(t, traces, map[string]int{"HorizontalPodAutoscaler web <": 1, "Deployment web <": 4})
}
