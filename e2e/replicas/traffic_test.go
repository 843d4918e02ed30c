// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/scenario"
)

// traffic makes continuous changes in several namespaces.
type traffic struct {
	namespaces []string
	client     kubernetes.Interface
	changes    atomic.Int64
	stop       context.CancelFunc
	done       sync.WaitGroup
}

func client(t *testing.T) kubernetes.Interface {
	t.Helper()
	conf, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	conf.QPS, conf.Burst = 100, 100
	c, err := kubernetes.NewForConfig(conf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newTraffic creates n namespaces with a Deployment in each.
func newTraffic(t *testing.T, prefix string, n int) *traffic {
	t.Helper()
	tr := &traffic{client: client(t)}
	for i := range n {
		name := fmt.Sprintf("%s-%02d", prefix, i)
		bench.MustKubectl(t, "", "create", "namespace", name)
		bench.MustKubectl(t, scenario.Web(name, "registry.example/web:1", 2), "apply", "-f", "-")
		tr.namespaces = append(tr.namespaces, name)
	}
	for _, name := range tr.namespaces {
		bench.MustKubectl(t, "", "-n", name, "rollout", "status", "deployment/web", "--timeout=4m")
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, name := range tr.namespaces {
			_ = tr.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		}
	})
	return tr
}

// start makes changes in one namespace after the other until end is called.
func (tr *traffic) start(t *testing.T, every time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tr.stop = cancel
	tr.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := tr.change(ctx, n); err != nil && ctx.Err() == nil {
				t.Errorf("change %d: %v", n, err)
			}
			tr.changes.Add(1)
		}
	})
	t.Cleanup(tr.end)
}

// change makes the n-th change: mostly a rollout, sometimes a scale, the deletion of a Pod, or the
// creation of a ClusterRole.
func (tr *traffic) change(ctx context.Context, n int) error {
	ns := tr.namespaces[n%len(tr.namespaces)]
	patch := map[string]any{
		"template": map[string]any{"metadata": map[string]any{"annotations": map[string]string{"turn": fmt.Sprint(n)}}},
	}
	switch n % 7 {
	case 3:
		patch = map[string]any{"replicas": 1 + n%4}
	case 5:
		return tr.deletePod(ctx, ns)
	case 6:
		_, err := tr.client.RbacV1().ClusterRoles().Create(
			ctx,
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", tr.namespaces[0], n)}},
			metav1.CreateOptions{},
		)
		return err
	}
	text, err := json.Marshal(map[string]any{"spec": patch})
	if err != nil {
		return err
	}
	_, err = tr.client.AppsV1().Deployments(ns).Patch(
		ctx,
		"web",
		types.StrategicMergePatchType,
		text,
		metav1.PatchOptions{FieldManager: "traffic"},
	)
	return err
}

func (tr *traffic) deletePod(ctx context.Context, ns string) error {
	pods, err := tr.client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			return unlessGone(tr.client.CoreV1().Pods(ns).Delete(ctx, p.Name, metav1.DeleteOptions{}))
		}
	}
	return nil
}

// unlessGone returns err, or nil if the object was not found.
func unlessGone(err error) error {
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// during waits for n more changes.
func (tr *traffic) during(t *testing.T, n int64) {
	t.Helper()
	until := tr.changes.Load() + n
	harness.Eventually(t, "more changes", func() bool { return tr.changes.Load() >= until })
}

// end stops the traffic, and waits for a running change.
func (tr *traffic) end() {
	tr.stop()
	tr.done.Wait()
}

// settle stops the traffic, and waits until all rollouts are complete.
func (tr *traffic) settle(t *testing.T) {
	t.Helper()
	tr.end()
	for _, name := range tr.namespaces {
		bench.MustKubectl(t, "", "-n", name, "rollout", "status", "deployment/web", "--timeout=4m")
	}
}
