// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// client is a client of the cluster that is not slowed down.
func client(t testing.TB) kubernetes.Interface {
	t.Helper()
	conf, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	conf.QPS, conf.Burst = 1000, 1000
	c, err := kubernetes.NewForConfig(conf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deployment is one whose Pods are up in a second.
func deployment(name string, replicas int32) *appsv1.Deployment {
	labels, grace := map[string]string{"app": name}, int64(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &grace,
					Containers:                    []corev1.Container{{Name: "app", Image: "app:1"}},
				},
			},
		},
	}
}

// work is many changes of Deployments in one namespace.
type work struct {
	kubernetes.Interface
	namespace string
	// deployments is how many there are, rollouts how many each has; atOnce
	// are changed at the same time.
	deployments, rollouts, atOnce int
	seed                          uint64

	// done is how many rollouts there were, others how many further changes.
	done, others atomic.Int64
}

// run does all of it, or stops at the first error.
func (w *work) run(ctx context.Context) error {
	var running sync.WaitGroup
	errs := make([]error, w.deployments)
	turns := make(chan struct{}, w.atOnce)
	for i := range w.deployments {
		running.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			errs[i] = w.one(ctx, i)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// one is the life of one Deployment: rollouts, some of which are waited for and
// others replaced by the next; scales, a lost Pod, and for some a deletion.
func (w *work) one(ctx context.Context, i int) error {
	random := rand.New(rand.NewPCG(w.seed, uint64(i)))
	name := fmt.Sprintf("d%02d", i)
	if _, err := w.AppsV1().Deployments(w.namespace).Create(
		ctx,
		deployment(name, 2),
		metav1.CreateOptions{},
	); err != nil {
		return err
	}
	if err := w.arrive(ctx, name); err != nil {
		return err
	}
	for n := range w.rollouts {
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"revision":"%d"}}}}}`, n)
		if err := w.patch(ctx, name, patch); err != nil {
			return err
		}
		w.done.Add(1)
		var err error
		if random.IntN(4) == 0 && n < w.rollouts-1 {
			err = pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
		} else {
			err = w.arrive(ctx, name)
		}
		if err != nil {
			return err
		}
		switch random.IntN(8) {
		case 0:
			w.others.Add(1)
			err = w.patch(ctx, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+random.IntN(3)))
		case 1:
			w.others.Add(1)
			err = w.losePod(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	if i%4 == 3 {
		w.others.Add(1)
		background := metav1.DeletePropagationBackground
		return w.AppsV1().Deployments(w.namespace).Delete(
			ctx,
			name,
			metav1.DeleteOptions{PropagationPolicy: &background},
		)
	}
	return w.arrive(ctx, name)
}

func (w *work) patch(ctx context.Context, name, patch string) error {
	_, err := w.AppsV1().Deployments(w.namespace).Patch(
		ctx,
		name,
		types.MergePatchType,
		[]byte(patch),
		metav1.PatchOptions{},
	)
	return err
}

// losePod deletes a Pod of the Deployment.
func (w *work) losePod(ctx context.Context, name string) error {
	pods, err := w.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name, Limit: 1})
	if err != nil || len(pods.Items) == 0 {
		return err
	}
	err = w.CoreV1().Pods(w.namespace).Delete(ctx, pods.Items[0].Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// arrive waits until the Deployment's rollout is complete.
func (w *work) arrive(ctx context.Context, name string) error {
	err := wait.PollUntilContextTimeout(
		ctx,
		200*time.Millisecond,
		5*time.Minute,
		true,
		func(ctx context.Context) (bool, error) {
			d, err := w.AppsV1().Deployments(w.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, nil //nolint:nilerr // asked again
			}
			want := *d.Spec.Replicas
			return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == want &&
				d.Status.Replicas == want && d.Status.AvailableReplicas == want, nil
		},
	)
	if err != nil {
		return fmt.Errorf("deployment %s has not arrived: %w", name, err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
