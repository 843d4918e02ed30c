// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// fillPatience is for all Pods to become ready, rollPatience for one
	// rollout.
	fillPatience = 40 * time.Minute
	rollPatience = 10 * time.Minute
	pollEvery    = 500 * time.Millisecond
)

// workload is all Deployments of the cluster.
type workload struct {
	client kubernetes.Interface
	names  []types.NamespacedName
	// latest is when each was last changed; the zero time if it was not.
	latest []time.Time
	// rollouts and pods are how many have been replaced.
	rollouts, pods int
	// slowest is the longest that a rollout took.
	slowest time.Duration
	// meanwhile is called again and again during a rollout; may be nil.
	meanwhile func()
}

// newWorkload makes the Deployments and waits until their Pods are ready.
func newWorkload(t *testing.T) *workload {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{client: client, latest: make([]time.Time, size.deployments)}
	for i := range size.namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("churn-%d", i)}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range size.deployments {
		d := deployment(i)
		w.names = append(w.names, types.NamespacedName{Namespace: d.Namespace, Name: d.Name})
		if _, err := client.AppsV1().Deployments(d.Namespace).Create(
			t.Context(),
			d,
			metav1.CreateOptions{},
		); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), fillPatience)
	defer cancel()
	for i := range w.names {
		w.await(ctx, t, i)
	}
	return w
}

func deployment(i int) *appsv1.Deployment {
	name := fmt.Sprintf("web-%d", i)
	labels := map[string]string{"app": name}
	replicas, history := int32(size.each()), int32(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("churn-%d", i%size.namespaces), Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			// As many ReplicaSets all the time, from the second round on.
			RevisionHistoryLimit: &history,
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: bench.Image("app:v1")}}},
			},
		},
	}
}

// roll replaces the Pods of the next Deployment and waits until it has.
func (w *workload) roll(t *testing.T) {
	t.Helper()
	i := w.rollouts % len(w.names)
	n := w.names[i]
	begin := time.Now()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"round":"%d"}}}}}`, w.rollouts)
	if _, err := w.client.AppsV1().Deployments(n.Namespace).Patch(
		t.Context(),
		n.Name,
		types.StrategicMergePatchType,
		[]byte(patch),
		metav1.PatchOptions{},
	); err != nil {
		t.Fatalf("cannot roll out %s: %v", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), rollPatience)
	defer cancel()
	w.await(ctx, t, i)
	w.latest[i] = begin
	w.rollouts++
	w.pods += size.each()
	w.slowest = max(w.slowest, time.Since(begin))
}

// await waits until all Pods are those of the present template, and ready.
func (w *workload) await(ctx context.Context, t *testing.T, i int) {
	t.Helper()
	n := w.names[i]
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		d, err := w.client.AppsV1().Deployments(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
		if err == nil {
			s, want := d.Status, *d.Spec.Replicas
			if s.ObservedGeneration >= d.Generation && s.Replicas == want && s.UpdatedReplicas == want &&
				s.AvailableReplicas == want {
				return
			}
		}
		select {
		case <-tick.C:
			if w.meanwhile != nil {
				w.meanwhile()
			}
		case <-ctx.Done():
			t.Fatalf("%s is not rolled out: %v\n%v\n%v", n, ctx.Err(), err, bench.Err())
		}
	}
}
