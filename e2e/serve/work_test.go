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

// client returns a client of the cluster with a high rate limit.
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

// deployment returns a Deployment whose Pods start and stop within a second.
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

// work makes many changes of Deployments in one namespace.
type work struct {
	kubernetes.Interface
	namespace string
	// deployments is the number of Deployments, rollouts that of the rollouts of each, and atOnce
	// that of concurrently changed Deployments.
	deployments, rollouts, atOnce int
	seed                          uint64

	// done counts the rollouts so far, and others the further changes.
	done, others atomic.Int64
}

// run makes all changes. After an error, the other Deployments continue; run returns all errors.
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

// one makes all changes of one Deployment: rollouts, scales, and deletions of a Pod. Some rollouts
// complete, and others are superseded by the next. Some Deployments are deleted in the end.
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
		return fmt.Errorf("rollout of deployment %s is not complete: %w", name, err)
	}
	return nil
}

// pause waits for d, or until ctx ends and returns its error.
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
