// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
)

// informer is a fake informer with a store. It signals when a handler is added.
type informer struct {
	*controllertest.FakeInformer
	store    toolscache.Store
	listened chan struct{}
}

func newInformer() *informer {
	return &informer{
		controllertest.NewFakeInformer(controllertest.Synced),
		toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), make(chan struct{}, 1),
	}
}

func (i *informer) GetStore() toolscache.Store { return i.store }

func (i *informer) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler,
	o toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	registration, err := i.FakeInformer.AddEventHandlerWithOptions(h, o)
	i.listened <- struct{}{}
	return registration, err
}

// Add stores an object and calls the handlers.
func (i *informer) Add(t testing.TB, obj client.Object) {
	t.Helper()
	if err := i.store.Add(obj); err != nil {
		t.Fatal(err)
	}
	i.FakeInformer.Add(obj)
}

// plant is a manager without a cluster.
type plant struct {
	manager.Manager
	parents, children *informer
	server            client.Client
}

// newPlant returns a manager, with a kit if rec is not nil.
func newPlant(t testing.TB, rec *operatortest.Recorder, change ...func(*manager.Options)) *plant {
	t.Helper()
	p := &plant{
		parents:  newInformer(),
		children: newInformer(),
		server: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithStatusSubresource(
			&policyv1.PodDisruptionBudget{},
		).Build(),
	}
	o := manager.Options{
		Scheme:  clientgoscheme.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			m := meta.NewDefaultRESTMapper(nil)
			m.Add(parentKind, meta.RESTScopeNamespace)
			m.Add(childKind, meta.RESTScopeNamespace)
			return m, nil
		},
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return &informertest.FakeInformers{
				Scheme: clientgoscheme.Scheme,
				InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{
					parentKind: p.parents, childKind: p.children,
				},
			}, nil
		},
		NewClient: func(*rest.Config, client.Options) (client.Client, error) { return p.server, nil },
	}
	o.Controller.SkipNameValidation = ptr.To(true)
	for _, c := range change {
		c(&o)
	}
	var err error
	if rec != nil {
		p.Manager, err = operator.NewManager(&rest.Config{}, o, rec.Option())
	} else {
		p.Manager, err = manager.New(&rest.Config{}, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs the manager until the test ends.
func (p *plant) run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-p.parents.listened
	<-p.children.listened
}

// ask adds the parent to the informer, like an external write.
func (p *plant) ask(t testing.TB) {
	t.Helper()
	obj := parent(carrying(given(1)), func(o *policyv1.PodDisruptionBudget) {
		o.ResourceVersion = "1"
		written := metav1.NewTime(time.Now().Add(-3 * time.Second))
		o.CreationTimestamp = written
		o.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: &written},
		}
	})
	p.parents.Add(t, obj)
}

// owned returns a child as the informer delivers it.
func owned(change ...func(*metav1.OwnerReference)) *corev1.ConfigMap {
	ref := metav1.OwnerReference{
		APIVersion: "policy/v1",
		Kind:       "PodDisruptionBudget",
		Name:       request.Name,
		UID:        "uid-head",
		Controller: ptr.To(true),
	}
	for _, c := range change {
		c(&ref)
	}
	obj := child()
	obj.ObjectMeta = annotated(given(2))
	obj.OwnerReferences = []metav1.OwnerReference{ref}
	return obj
}

func TestController(t *testing.T) {
	ownQueue := new(atomic.Bool)
	cases := map[string]struct {
		reason  string
		options controller.Options
		manager func(*manager.Options)
		wait    bool // a queue wait is recorded
	}{
		"by default": {reason: "the priority queue", wait: true},
		"without priorities": {
			reason:  "client-go's queue",
			options: controller.Options{UsePriorityQueue: ptr.To(false)},
			wait:    true,
		},
		"without, by manager": {
			reason:  "the manager's options apply",
			manager: func(o *manager.Options) { o.Controller.UsePriorityQueue = ptr.To(false) },
			wait:    true,
		},
		"several at a time": {
			reason:  "the option is kept",
			options: controller.Options{MaxConcurrentReconciles: 4},
			wait:    true,
		},
		"a limiter of its own": {
			reason: "kept",
			options: controller.Options{
				RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
					time.Millisecond,
					time.Second,
				),
			},
			wait: true,
		},
		"a queue of its own": {
			reason: "a custom queue stays",
			options: controller.Options{
				NewQueue: func(
					name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
				) workqueue.TypedRateLimitingInterface[reconcile.Request] {
					ownQueue.Store(true)
					return workqueue.NewTypedRateLimitingQueueWithConfig(
						limiter,
						workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name},
					)
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := operatortest.New(t)
			var change []func(*manager.Options)
			if tc.manager != nil {
				change = append(change, tc.manager)
			}
			p := newPlant(t, rec, change...)
			failed := new(atomic.Bool)
			_, err := operator.NewControllerManagedBy(p).For(&policyv1.PodDisruptionBudget{}).Owns(&corev1.ConfigMap{}).
				Named("head").WithOptions(tc.options).
				Build(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					if !failed.Swap(true) {
						return reconcile.Result{}, errTest
					}
					return reconcile.Result{}, p.GetClient().Create(ctx, child())
				}))
			if err != nil {
				t.Fatal(err)
			}
			p.run(t)
			p.ask(t)
			want := []string{"head reconcile", "create ConfigMap", "watch lag"}
			if tc.wait {
				want = append(want, "queue wait")
			}
			rec.Wait(t, want...)
			rec.OneTrace(t, want...)
			if name == "a queue of its own" && !ownQueue.Load() {
				t.Errorf("%s: the custom queue was not used", tc.reason)
			}
			if !tc.wait && len(rec.Find("queue wait")) > 0 {
				t.Errorf("%s: a queue wait is recorded", tc.reason)
			}
		})
	}
}

func TestTriggersOfAController(t *testing.T) {
	every := func(b *operator.Builder) *operator.Builder {
		return b.Owns(&corev1.ConfigMap{}, builder.MatchEveryOwner)
	}
	owns := func(b *operator.Builder) *operator.Builder { return b.Owns(&corev1.ConfigMap{}) }
	watches := func(b *operator.Builder) *operator.Builder {
		return b.Watches(
			&corev1.ConfigMap{},
			handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
				return []reconcile.Request{request}
			}),
		)
	}
	cases := map[string]struct {
		reason string
		build  func(*operator.Builder) *operator.Builder
		child  *corev1.ConfigMap
		event  func(*informer, *corev1.ConfigMap)
		links  map[string]string
		asleep bool // no reconcile
	}{
		"a child's creation": {
			reason: "L2",
			build:  owns,
			child:  owned(),
			event:  func(i *informer, o *corev1.ConfigMap) { i.FakeInformer.Add(o) },
			links:  map[string]string{traceOf(2): "trigger"},
		},
		"a child's deletion": {
			reason: "L2",
			build:  owns,
			child:  owned(),
			event:  func(i *informer, o *corev1.ConfigMap) { i.FakeInformer.Delete(o) },
			links:  map[string]string{traceOf(2): "trigger"},
		},
		"of one of many owners": {
			reason: "L2",
			build:  every,
			child:  owned(func(r *metav1.OwnerReference) { r.Controller = nil }),
			event:  func(i *informer, o *corev1.ConfigMap) { i.FakeInformer.Add(o) },
			links:  map[string]string{traceOf(2): "trigger"},
		},
		"a watch": {
			reason: "L2",
			build:  watches,
			child:  owned(),
			event:  func(i *informer, o *corev1.ConfigMap) { i.FakeInformer.Add(o) },
			links:  map[string]string{traceOf(2): "trigger"},
		},
		"a resync": {
			reason: "L7: the event has no new version",
			build:  owns,
			child:  owned(),
			event:  func(i *informer, o *corev1.ConfigMap) { o.ResourceVersion = "4"; i.Update(o, o) },
		},
		"a resync of a watch": {
			reason: "L7: the event has no new version",
			build:  watches,
			child:  owned(),
			event:  func(i *informer, o *corev1.ConfigMap) { o.ResourceVersion = "4"; i.Update(o, o) },
		},
		"another's child": {
			reason: "the event causes no request",
			build:  owns,
			child:  owned(func(r *metav1.OwnerReference) { r.APIVersion = "other/v1" }),
			event:  func(i *informer, o *corev1.ConfigMap) { i.FakeInformer.Add(o) },
			asleep: true,
		},
		"only its context": {
			reason: "a change of only the context causes no reconcile",
			build:  owns,
			child:  owned(),
			event: func(i *informer, o *corev1.ConfigMap) {
				before := o.DeepCopy()
				before.ResourceVersion, o.ResourceVersion = "3", "4"
				before.Annotations = nil
				i.Update(before, o)
			},
			asleep: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := operatortest.New(t)
			p := newPlant(t, rec)
			if err := p.parents.store.Add(parent(carrying(given(1)))); err != nil {
				t.Fatal(err)
			}
			err := tc.build(operator.NewControllerManagedBy(p).For(&policyv1.PodDisruptionBudget{})).Named("head").
				Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					return reconcile.Result{}, reconcile.TerminalError(errTest)
				}))
			if err != nil {
				t.Fatal(err)
			}
			p.run(t)
			tc.event(p.children, tc.child)
			if tc.asleep {
				p.ask(t)
			}
			rec.Wait(t, "head reconcile")
			if diff := cmp.Diff(tc.links, links(only(t, rec, "head reconcile")), equateEmpty); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
