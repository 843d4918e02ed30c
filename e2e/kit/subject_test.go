// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
)

// sight is the way in which an operator reads its children.
type sight string

const (
	owned      sight = "owned"      // an informer for all namespaces
	namespaced sight = "namespaced" // an informer for some namespaces
	live       sight = "live"       // no informer: the client reads from the API server
	direct     sight = "direct"     // no informer: the manager's API reader
)

// subject is an operator that can be restarted.
type subject struct {
	sight sight
	kit   bool
	ns    string
	write func(ctx context.Context, w *hand, h *v1alpha1.Head) error

	recorder *operatortest.Recorder // nil without the kit
	options  []operator.Option
	starts   int
	agent    string
	hand     *hand
	events   chan event.GenericEvent
	stop     func()

	mu   sync.Mutex
	runs map[string]int
	errs map[string]error
}

// settings returns a client configuration of the administrator with that user agent.
func settings(t testing.TB, agent string) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg.UserAgent, cfg.QPS = agent, -1
	return cfg
}

// start runs the operator until the end of the test or stop.
func (s *subject) start(t *testing.T) {
	t.Helper()
	s.starts++
	s.agent = fmt.Sprintf("%s-%d", s.ns, s.starts)
	s.events = make(chan event.GenericEvent)
	s.runs, s.errs = map[string]int{}, map[string]error{}
	o := manager.Options{
		Scheme: scheme, Logger: logr.Discard(),
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	switch s.sight {
	case namespaced:
		o.Cache.DefaultNamespaces = map[string]cache.Config{s.ns: {}, "default": {}}
	case live:
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{}}
		for _, c := range children {
			o.Client.Cache.DisableFor = append(o.Client.Cache.DisableFor, c.empty())
		}
	}
	m, err := s.manager(t, o)
	if err != nil {
		t.Fatal(err)
	}
	s.hand = &hand{m.GetClient(), m.GetClient()}
	if s.sight == direct {
		s.hand.reader = m.GetAPIReader()
	}
	b := operator.NewControllerManagedBy(m).For(&v1alpha1.Head{}).
		WithEventFilter(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == s.ns })).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		WatchesRawSource(source.Channel(s.events, &handler.EnqueueRequestForObject{}))
	if s.informed() {
		for _, c := range children {
			b.Owns(c.empty())
		}
	}
	if err := b.Complete(s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with an error: %v", err)
		}
	})
	t.Cleanup(s.stop)
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the informers did not sync")
	}
}

// manager returns the manager of controller-runtime, or of the kit.
func (s *subject) manager(t *testing.T, o manager.Options) (manager.Manager, error) {
	cfg := settings(t, s.agent)
	if !s.kit {
		return ctrl.NewManager(cfg, o)
	}
	options := s.options
	if options == nil {
		s.recorder = operatortest.New(t)
		options = []operator.Option{s.recorder.Option()}
	}
	return operator.NewManager(cfg, o, options...)
}

// informed reports whether children have informers.
func (s *subject) informed() bool { return s.sight == owned || s.sight == namespaced }

// Reconcile reads the Head and calls write.
func (s *subject) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	h := &v1alpha1.Head{}
	err := s.hand.client.Get(ctx, req.NamespacedName, h)
	if err == nil {
		err = s.write(ctx, s.hand, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[req.Name]++
	if err != nil {
		s.errs[req.Name] = err
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// done returns the number of reconciles since the start, by Head.
func (s *subject) done() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.runs)
}

// failures returns the errors since the last call.
func (s *subject) failures() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, name := range slices.Sorted(maps.Keys(s.errs)) {
		all = append(all, fmt.Errorf("%s: %w", name, s.errs[name]))
	}
	clear(s.errs)
	return errors.Join(all...)
}

// force triggers reconciles of each Head: times rounds, one after the other.
func (s *subject) force(t *testing.T, times int, heads ...string) {
	t.Helper()
	for range times {
		before := s.done()
		for _, name := range heads {
			s.events <- event.GenericEvent{
				Object: &v1alpha1.Head{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}},
			}
		}
		harness.Eventually(t, "a reconcile of every Head", func() bool {
			now := s.done()
			return !slices.ContainsFunc(heads, func(name string) bool { return now[name] <= before[name] })
		})
	}
}

// statuses are the ways to write the status of a Head.
var statuses = []string{"update", "patch", "apply"}

// report writes the status of a Head, even without a change.
func report(ctx context.Context, w *hand, h *v1alpha1.Head, how string) error {
	before := h.DeepCopy()
	ready := metav1.Condition{
		Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady,
		LastTransitionTime: h.CreationTimestamp, ObservedGeneration: h.Generation,
	}
	h.Status = v1alpha1.Status{ObservedGeneration: h.Generation, Conditions: []metav1.Condition{ready}}
	switch how {
	case "update":
		return w.client.Status().Update(ctx, h)
	case "patch":
		return w.client.Status().Patch(ctx, h, client.MergeFrom(before))
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"observedGeneration": h.Generation,
		"conditions": []any{map[string]any{
			"type": ready.Type, "status": string(ready.Status), "reason": ready.Reason, "message": "",
			"lastTransitionTime": ready.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z"),
			"observedGeneration": h.Generation,
		}},
	}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Head"))
	u.SetName(h.Name)
	u.SetNamespace(h.Namespace)
	return w.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership)
}
