// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// operatorName is the service account, the user agent and the field manager of the operator.
const operatorName = "shop-operator"

// pace is the time between two looks of the operator.
const pace = 200 * time.Millisecond

// hold is the finalizer of the operator, for children without an owner reference.
const hold = "example.com/hold"

// operator reconciles all objects of one kind in a namespace. Each has a ConfigMap and a Deployment of its
// name.
type operator struct {
	objects, configs, deployments dynamic.ResourceInterface

	// report returns the status of an object, if its kind has one.
	report func(o *unstructured.Unstructured, ready bool) map[string]any
	// labelled children have a label instead of an owner reference. The operator deletes them.
	labelled bool
	// delay is the time from a change of an object to the work on it.
	delay time.Duration
	// seen are the times of the first look at each generation of an object.
	seen map[string]time.Time
}

// due reports whether the delay since the last change of the object is over.
func (op *operator) due(o *unstructured.Unstructured) bool {
	key := fmt.Sprint(o.GetUID(), o.GetGeneration())
	if op.seen[key].IsZero() {
		op.seen[key] = time.Now()
	}
	return time.Since(op.seen[key]) >= op.delay
}

// operate makes a service account for an operator of the resource, and runs it until the end of the
// scenario.
func (s *stage) operate(resource schema.GroupVersionResource, op *operator) {
	s.t.Helper()
	s.account(operatorName)
	client := s.client(operatorName, operatorName+"/v1")
	op.seen = map[string]time.Time{}
	op.objects = client.Resource(resource).Namespace(s.ns)
	op.configs = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(s.ns)
	op.deployments = client.Resource(
		schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(s.ns)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { op.run(ctx, s.t.Logf) })
	s.t.Cleanup(func() { stop(); running.Wait() })
}

// account makes a service account with all rights in the namespace.
func (s *stage) account(name string) {
	s.t.Helper()
	s.as(userA, "create", "serviceaccount", name)
	s.as(userA, "create", "rolebinding", name, "--clusterrole=cluster-admin", "--serviceaccount="+s.ns+":"+name)
}

// client returns a client of a service account with that user agent.
func (s *stage) client(account, agent string) dynamic.Interface {
	s.t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	cfg.CertData, cfg.KeyData, cfg.CertFile, cfg.KeyFile = nil, nil, "", ""
	cfg.BearerToken = strings.TrimSpace(s.MustKubectl(s.t, "", "-n", s.ns, "create", "token", account))
	cfg.QPS = -1 // a wait would make its list old
	cfg.UserAgent = agent
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// run looks at all objects until the context ends. An error is logged, and the next look tries again.
func (op *operator) run(ctx context.Context, logf func(string, ...any)) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		list, err := op.objects.List(ctx, metav1.ListOptions{})
		if err == nil {
			for i := range list.Items {
				if err = op.reconcile(ctx, &list.Items[i]); err != nil {
					break
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			logf("the operator tries again: %v", err)
		}
	}
}

// reconcile makes the children of an object as its spec wants them, and reports on it.
func (op *operator) reconcile(ctx context.Context, o *unstructured.Unstructured) error {
	switch {
	case !op.due(o):
		return nil
	case o.GetDeletionTimestamp() != nil && op.labelled:
		return op.release(ctx, o)
	case o.GetDeletionTimestamp() != nil:
		return nil // the garbage collector deletes the children
	}
	version, _, err := unstructured.NestedInt64(o.Object, "spec", "version")
	if err != nil {
		return err
	}
	if _, err := ensure(ctx, op.configs, op.child(o, "v1", "ConfigMap", map[string]any{
		"data": map[string]any{"version": fmt.Sprint(version)},
	}), "data", "version"); err != nil {
		return err
	}
	image := fmt.Sprintf("registry.example/shop:%d", version)
	labels := map[string]any{"app": o.GetName()}
	d, err := ensure(ctx, op.deployments, op.child(o, "apps/v1", "Deployment", map[string]any{
		"spec": map[string]any{
			"replicas": int64(1),
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{
					"labels": labels, "annotations": map[string]any{"lab.lifeline.dev/stop": "100ms", "image": image},
				},
				"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "image": image}}},
			},
		},
	}), "spec", "template", "metadata", "annotations", "image")
	if err != nil || op.report == nil {
		return err
	}
	return op.tell(ctx, o, op.report(o, rolledOut(d)))
}

// child returns a child of the object with its name.
func (op *operator) child(o *unstructured.Unstructured, apiVersion, kind string, content map[string]any,
) *unstructured.Unstructured {
	c := &unstructured.Unstructured{Object: content}
	c.SetAPIVersion(apiVersion)
	c.SetKind(kind)
	c.SetName(o.GetName())
	if op.labelled {
		c.SetLabels(map[string]string{"example.com/of": o.GetName()})
	} else {
		c.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(o, o.GroupVersionKind())})
	}
	return c
}

// ensure creates the object, or updates it if it has another value in that field. It returns the stored
// object.
func ensure(ctx context.Context, in dynamic.ResourceInterface, want *unstructured.Unstructured, field ...string,
) (*unstructured.Unstructured, error) {
	is, err := in.Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return in.Create(ctx, want, metav1.CreateOptions{})
	} else if err != nil {
		return nil, err
	}
	value, _, _ := unstructured.NestedString(want.Object, field...)
	if now, _, _ := unstructured.NestedString(is.Object, field...); now == value || is.GetDeletionTimestamp() != nil {
		return is, nil
	}
	want.SetResourceVersion(is.GetResourceVersion())
	return in.Update(ctx, want, metav1.UpdateOptions{})
}

// rolledOut reports whether the rollout of a Deployment with one replica is over.
func rolledOut(d *unstructured.Unstructured) bool {
	number := func(field ...string) int64 {
		n, _, _ := unstructured.NestedInt64(d.Object, field...)
		return n
	}
	return number("status", "observedGeneration") == d.GetGeneration() && number("status", "replicas") == 1 &&
		number("status", "updatedReplicas") == 1 && number("status", "availableReplicas") == 1
}

// tell writes a status that differs from the present one.
func (op *operator) tell(ctx context.Context, o *unstructured.Unstructured, status map[string]any) error {
	if now, _, _ := unstructured.NestedMap(o.Object, "status"); fmt.Sprint(now) == fmt.Sprint(status) {
		return nil
	}
	o = o.DeepCopy()
	o.Object["status"] = status
	_, err := op.objects.UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// release deletes the children and then removes the finalizer.
func (op *operator) release(ctx context.Context, o *unstructured.Unstructured) error {
	for _, in := range []dynamic.ResourceInterface{op.configs, op.deployments} {
		err := in.Delete(ctx, o.GetName(), metav1.DeleteOptions{
			PropagationPolicy: new(metav1.DeletePropagationForeground),
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if _, err := op.deployments.Get(ctx, o.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	o = o.DeepCopy()
	o.SetFinalizers(nil)
	_, err := op.objects.Update(ctx, o, metav1.UpdateOptions{})
	return err
}

// observing reports as the conventions of the API say: an observed generation, and a condition Ready.
func observing(o *unstructured.Unstructured, ready bool) map[string]any {
	status, reason := "False", "RollingOut"
	if ready {
		status, reason = "True", "RolledOut"
	}
	return map[string]any{
		"observedGeneration": o.GetGeneration(),
		"conditions":         []any{map[string]any{"type": "Ready", "status": status, "reason": reason}},
	}
}

// inPhases reports only a phase, as old operators do.
func inPhases(_ *unstructured.Unstructured, ready bool) map[string]any {
	if ready {
		return map[string]any{"phase": "Running"}
	}
	return map[string]any{"phase": "Pending"}
}
