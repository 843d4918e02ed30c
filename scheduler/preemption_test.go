// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	kubepreemption "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type candidate struct {
	node    string
	victims *extenderv1.Victims
}

func (c candidate) Name() string { return c.node }

func (c candidate) Victims() *extenderv1.Victims { return c.victims }

func (c candidate) NumPodGroupDisruptions() int { return 0 }

// TestCriteria compares the criteria with the choice of Kubernetes.
func TestCriteria(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	plugin := &defaultpreemption.DefaultPreemption{}
	evaluator := &kubepreemption.Evaluator{Interface: plugin}
	seen := map[string]int{}
	for range 3000 {
		p := preemption{candidates: map[string]*extenderv1.Victims{}}
		var candidates []kubepreemption.Candidate
		for i := range 1 + random.IntN(4) {
			victims := &extenderv1.Victims{NumPDBViolations: random.Int64N(2)}
			for range 1 + random.IntN(3) {
				priority := int32(random.IntN(2))
				started := metav1.NewTime(time.Unix(int64(random.IntN(2)), 0))
				victims.Pods = append(victims.Pods, &corev1.Pod{
					Spec: corev1.PodSpec{Priority: &priority}, Status: corev1.PodStatus{StartTime: &started},
				})
			}
			slices.SortFunc(victims.Pods, func(a, b *corev1.Pod) int {
				return cmp.Compare(*b.Spec.Priority, *a.Spec.Priority)
			})
			name := fmt.Sprint("node-", i)
			p.candidates[name] = victims
			candidates = append(candidates, candidate{name, victims})
		}
		chosen := evaluator.SelectCandidate(t.Context(), candidates).Name()
		decided := p.decided(chosen)
		seen[decided]++
		if decided == "plugin" {
			t.Fatalf("the criteria prefer another node than %s of %v", chosen, p.candidates)
		}
		if first := p.inOrder("")[0]; decided != "none" && first != chosen {
			t.Fatalf("the first of the order is %s, and Kubernetes chose %s by %s", first, chosen, decided)
		}
	}
	for _, c := range append([]string{"only_candidate", "none"},
		"disruption_budgets", "highest_priority", "sum_of_priorities", "start_time") {
		if seen[c] == 0 {
			t.Errorf("no choice by %s, but %v", c, seen)
		}
	}
}
