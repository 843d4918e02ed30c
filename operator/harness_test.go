// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
)

// The operator of these tests keeps a ConfigMap for each PodDisruptionBudget. That built-in kind
// has an observedGeneration.
var (
	parentKind = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	childKind  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

	request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "demo", Name: "head"}}
	begin   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	errTest = errors.New("no more of this")
)

// rig is an operator without a cluster: a fake API server, fake informers, and the kit between
// them.
type rig struct {
	kit      *operator.Kit
	rec      *operatortest.Recorder
	server   client.WithWatch
	client   client.Client
	clock    *testclock.FakePassiveClock
	parents  toolscache.Store
	children toolscache.Store
}

// newRig returns a rig; intercept changes the responses of the API server.
func newRig(t testing.TB, intercept interceptor.Funcs, opts ...operator.Option) *rig {
	t.Helper()
	r := &rig{
		rec: operatortest.New(t), clock: testclock.NewFakePassiveClock(begin),
		parents:  toolscache.NewStore(toolscache.MetaNamespaceKeyFunc),
		children: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc),
	}
	r.kit = operator.New(append([]operator.Option{r.rec.Option(), operator.WithClock(r.clock)}, opts...)...)
	r.kit.HaveInformer(parentKind, r.parents)
	r.kit.HaveInformer(childKind, r.children)
	r.server = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithStatusSubresource(
		&policyv1.PodDisruptionBudget{},
	).Build()
	r.client = r.kit.Client(interceptor.NewClient(r.server, intercept))
	return r
}

// parent returns the parent in the informer, at its first generation.
func parent(change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	p := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: request.Namespace, Name: request.Name, UID: "uid-head", Generation: 1,
		CreationTimestamp: metav1.NewTime(begin.Add(-time.Minute)),
	}}
	for _, c := range change {
		c(p)
	}
	return p
}

func ready(p *policyv1.PodDisruptionBudget) {
	p.Status.ObservedGeneration = p.Generation
	p.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: p.Generation},
	}
}

func unready(p *policyv1.PodDisruptionBudget) {
	p.Status.ObservedGeneration = p.Generation
	p.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: p.Generation},
	}
}

func deleting(p *policyv1.PodDisruptionBudget) {
	p.DeletionTimestamp = &metav1.Time{Time: begin}
	p.Finalizers = []string{"demo/clean"}
}

func carrying(sc trace.SpanContext) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) {
		lifeline.Inject(trace.ContextWithSpanContext(context.Background(), sc), p)
	}
}

func generation(g int64) func(*policyv1.PodDisruptionBudget) {
	return func(p *policyv1.PodDisruptionBudget) { p.Generation = g }
}

// given returns a context from another writer: sampled, without a claim.
func given(n byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: n}, SpanID: trace.SpanID{7: n}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// claimed is given(n) with a claim about the parent, made a minute before the start of the test.
func claimed(n byte, change ...func(*lifeline.Claim)) trace.SpanContext {
	c := lifeline.Claim{Object: parentIdentity().Hash(), Digest: 1, Generation: 1, Time: begin.Add(-time.Minute)}
	for _, f := range change {
		f(&c)
	}
	return lifeline.Claimed(given(n), c)
}

func parentIdentity() lifeline.Identity {
	return lifeline.Identity{
		Group:     parentKind.Group,
		Kind:      parentKind.Kind,
		Namespace: request.Namespace,
		Name:      request.Name,
		UID:       "uid-head",
	}
}

// child returns the child of the parent.
func child() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: "child"},
		Data:       map[string]string{"a": "1"},
	}
}

// have puts the parent into the informer and the server.
func (r *rig) have(t testing.TB, p *policyv1.PodDisruptionBudget) {
	t.Helper()
	stored := p.DeepCopy()
	stored.ResourceVersion = ""
	if err := r.server.Create(t.Context(), stored); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	if err := r.parents.Add(p); err != nil {
		t.Fatal(err)
	}
}

// reconcile runs one reconcile of the parent, which lasts a second.
func (r *rig) reconcile(
	t testing.TB,
	do func(context.Context, client.Client) (reconcile.Result, error),
) (reconcile.Result, error) {
	t.Helper()
	return r.kit.Reconciler(
		"head",
		parentKind,
		reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			r.clock.SetTime(r.clock.Now().Add(time.Second))
			return do(ctx, r.client)
		}),
		nil,
	).Reconcile(t.Context(), request)
}

// creates is a reconcile that creates the child.
func creates(ctx context.Context, c client.Client) (reconcile.Result, error) {
	return reconcile.Result{}, c.Create(ctx, child())
}

// says returns a reconcile that writes the parent's status.
func says(change func(*policyv1.PodDisruptionBudget)) func(context.Context, client.Client) (reconcile.Result, error) {
	return func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		p := &policyv1.PodDisruptionBudget{}
		if err := c.Get(ctx, request.NamespacedName, p); err != nil {
			return reconcile.Result{}, err
		}
		change(p)
		return reconcile.Result{}, c.Status().Update(ctx, p)
	}
}

func rests(context.Context, client.Client) (reconcile.Result, error) { return reconcile.Result{}, nil }

func bagOf(t testing.TB, text string) baggage.Baggage {
	t.Helper()
	b, err := baggage.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func claimTime() time.Time { return begin.Add(-time.Minute) }

func annotated(sc trace.SpanContext) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   request.Namespace,
		Name:        "child",
		Annotations: lifeline.Default.Encode(sc, baggage.Baggage{}),
	}
}
