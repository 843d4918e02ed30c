// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestRecoversAfterItsDeadline: a rollout fails at its deadline, and completes later. Its trace was stored as failed,
// and is then listed as converged, also after a kill between the two.
func TestRecoversAfterItsDeadline(t *testing.T) {
	ns := bench.Namespace(t)
	c := client(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	if _, err := c.CoreV1().ResourceQuotas(ns).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the quota in force", func() bool {
		q, err := c.CoreV1().ResourceQuotas(ns).Get(t.Context(), "none", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	web := deployment("web", 1)
	deadline := int32(5)
	web.Spec.ProgressDeadlineSeconds = &deadline
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	failed := s.TraceOf(t, ns, "web")
	list := func() harness.Summary {
		for _, sum := range s.List(t, url.Values{"namespace": {ns}, "kind": {"Deployment"}}) {
			if sum.TraceID == failed.ID {
				return sum
			}
		}
		return harness.Summary{}
	}
	if sum := list(); sum.Outcome != "failed" || sum.Was != "" ||
		!strings.Contains(sum.Reason, "Deployment web exceeded its progress deadline") {
		t.Fatalf("at the deadline: %+v", sum)
	}

	s.Kill(t)
	s.Start(t)
	if err := c.CoreV1().ResourceQuotas(ns).Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "a new outcome", func() bool { return list().Outcome == "converged" })
	sum := list()
	if sum.Was != "failed" || sum.SettledAt == "" {
		t.Errorf("after the recovery: %+v", sum)
	}
	root := s.Trace(t, failed.ID).Spans[0]
	if root.Attributes["lifeline.outcome"] != "converged" || root.Attributes["lifeline.was"] != "failed" {
		t.Errorf("the root has %v", root.Attributes)
	}
	for _, sum := range s.List(t, url.Values{"namespace": {ns}, "outcome": {"failed"}}) {
		t.Errorf("still listed as failed: %+v", sum)
	}
	got := bench.Exec(t, "why", "deployment/web", "-n", ns, "--server", "http://"+s.APIAddress())
	const was = "It has recovered; before, it was failed: exceeded its progress deadline."
	if got.Code != 0 || !strings.Contains(got.Stdout, "Deployment web converged") ||
		!strings.Contains(got.Stdout, was) {
		t.Errorf("lifeline why: %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	s.Stop(t)
}
