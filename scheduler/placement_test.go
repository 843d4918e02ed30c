// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler"
)

// mixed returns nodes and Pods that exercise most plugins: taints, zones, affinity, spread, priority.
func mixed(nodes, pods int) []runtime.Object {
	var out []runtime.Object
	for i := range nodes {
		n := node(fmt.Sprintf("node-%03d", i), strconv.Itoa(4+i%5), strconv.Itoa(8+i%7)+"Gi")
		n.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%3)
		if i%10 == 0 {
			tainted(n)
		}
		out = append(out, n)
	}
	for i := range pods {
		p := pod(fmt.Sprintf("app%d-%04d", i%7, i), strconv.Itoa(50+i%9*10)+"m", strconv.Itoa(64+i%5*16)+"Mi")
		p.Labels["app"] = fmt.Sprintf("app%d", i%7)
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
		switch i % 7 {
		case 1:
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		case 2:
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: selector,
			}}
		case 3:
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
					Weight:          50,
					PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: corev1.LabelHostname},
				}},
			}}
		case 4:
			p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "zone-1"}
		case 5:
			high := int32(100)
			p.Spec.Priority = &high
		}
		out = append(out, p)
	}
	return out
}

// TestSamePlacements schedules the same Pods without and with spans. With one worker, the
// scheduler's choices do not depend on the order of its goroutines.
func TestSamePlacements(t *testing.T) {
	const nodes, pods = 30, 400
	place := func(traced bool) map[string]string {
		c := start(t, settings{
			traced: traced, objects: mixed(nodes, pods), options: []scheduler.Option{scheduler.WithParallelism(1)},
		})
		out := map[string]string{}
		for uid, node := range c.waitBound(pods) {
			out[string(uid)] = node
		}
		if traced {
			c.spans(pods)
		}
		return out
	}
	if diff := cmp.Diff(place(false), place(true)); diff != "" {
		t.Errorf("-without +with spans:\n%s", diff)
	}
}
