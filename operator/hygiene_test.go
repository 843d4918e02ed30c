// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator"
)

// TestClaimsStayOnObjects checks that spans carry no claims. A claim holds a digest of the desired
// state, which can be secret. It is only for readers of the object.
func TestClaimsStayOnObjects(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(claimed(1))))
	if _, err := r.reconcile(t, creates); err != nil {
		t.Fatal(err)
	}
	r.rec.OneTrace(t, "head reconcile", "create ConfigMap")
	for _, s := range r.rec.Spans() {
		for _, sc := range []trace.SpanContext{s.SpanContext(), s.Parent()} {
			if sc.TraceState().Get("lifeline") != "" {
				t.Errorf("%s carries %s", s.Name(), sc.TraceState())
			}
		}
	}
}

// asked is a transport that stores its last request.
type asked struct{ last *http.Request }

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestOffRequests checks that nothing is propagated while tracing is off, not even the caller's
// span.
func TestOffRequests(t *testing.T) {
	for name, on := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			if !on {
				if err := r.rec.Tracing().Set(t.Context(), false, nil); err != nil {
					t.Fatal(err)
				}
			}
			server := &asked{}
			cfg := r.kit.Config(&rest.Config{Host: "http://127.0.0.1:1", Transport: server})
			rt, err := rest.TransportFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx := trace.ContextWithSpanContext(t.Context(), given(1))
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, cfg.Host, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			for _, h := range []string{"traceparent", "baggage"} {
				if got := server.last.Header.Get(h) != ""; got != on {
					t.Errorf("header %s is present: %v", h, got)
				}
			}
		})
	}
}

// TestConvergedPanics checks a panic in the user's function. controller-runtime must be able to
// recover, and the kit must not deadlock.
func TestConvergedPanics(t *testing.T) {
	r := newRig(
		t,
		interceptor.Funcs{},
		operator.WithReads(),
		operator.WithConverged(func(client.Object) bool { panic("oh") }),
	)
	r.have(t, parent())
	defer func() {
		if recover() == nil {
			t.Error("the panic did not reach the caller")
		}
	}()
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		return reconcile.Result{}, c.List(ctx, &corev1.SecretList{})
	})
	t.Errorf("Reconcile returned %v instead of a panic", err)
}

// TestEpisodesOfTwoControllers checks that an idle controller does not end the episode of another.
func TestEpisodesOfTwoControllers(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(given(1)), ready))
	if _, err := r.reconcile(t, creates); err != nil {
		t.Fatal(err)
	}
	idle := r.kit.Reconciler(
		"other",
		parentKind,
		reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			return rests(ctx, r.client)
		}),
		nil,
	)
	if _, err := idle.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if !r.kit.Episode("uid-head") {
		t.Error("the other controller's episode ended")
	}
}

// TestInformersStartedByLists checks that an informer started by a list is recorded.
func TestInformersStartedByLists(t *testing.T) {
	kit := operator.New()
	inner := &listing{FakeInformers: &informertest.FakeInformers{Scheme: clientgoscheme.Scheme}}
	c := kit.Watched(inner, clientgoscheme.Scheme)
	if err := c.List(t.Context(), &policyv1.PodDisruptionBudgetList{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(inner.asked, " "); got != "*v1.PodDisruptionBudget" {
		t.Errorf("GetInformer was called for %q", got)
	}
}

type listing struct {
	*informertest.FakeInformers
	asked []string
}

func (l *listing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (l *listing) GetInformer(
	ctx context.Context,
	obj client.Object,
	opts ...cache.InformerGetOption,
) (cache.Informer, error) {
	l.asked = append(l.asked, fmt.Sprintf("%T", obj))
	return l.FakeInformers.GetInformer(ctx, obj, opts...)
}
