// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
)

var idles = reconcile.Func(
	func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil },
)

// TestMisuse checks that the builder returns the same errors as controller-runtime's, with and
// without a kit.
func TestMisuse(t *testing.T) {
	set := controller.Options{Reconciler: idles}
	cases := map[string]struct {
		theirs func(*builder.Builder) error
		ours   func(*operator.Builder) error
	}{
		"fine": {
			func(b *builder.Builder) error { return b.For(&policyv1.PodDisruptionBudget{}).Complete(idles) },
			func(b *operator.Builder) error { return b.For(&policyv1.PodDisruptionBudget{}).Complete(idles) },
		},
		"no reconciler": {
			func(b *builder.Builder) error { return b.For(&policyv1.PodDisruptionBudget{}).Complete(nil) },
			func(b *operator.Builder) error { return b.For(&policyv1.PodDisruptionBudget{}).Complete(nil) },
		},
		"a reconciler in the options": {
			func(b *builder.Builder) error {
				_, err := b.For(&policyv1.PodDisruptionBudget{}).WithOptions(set).Build(nil)
				return err
			},
			func(b *operator.Builder) error {
				_, err := b.For(&policyv1.PodDisruptionBudget{}).WithOptions(set).Build(nil)
				return err
			},
		},
		"two reconcilers": {
			func(b *builder.Builder) error {
				_, err := b.For(&policyv1.PodDisruptionBudget{}).WithOptions(set).Build(idles)
				return err
			},
			func(b *operator.Builder) error {
				_, err := b.For(&policyv1.PodDisruptionBudget{}).WithOptions(set).Build(idles)
				return err
			},
		},
		"for two": {
			func(b *builder.Builder) error {
				return b.For(&policyv1.PodDisruptionBudget{}).For(&corev1.ConfigMap{}).Complete(idles)
			},
			func(b *operator.Builder) error {
				return b.For(&policyv1.PodDisruptionBudget{}).For(&corev1.ConfigMap{}).Complete(idles)
			},
		},
		"for none": {
			func(b *builder.Builder) error { return b.Owns(&corev1.ConfigMap{}).Complete(idles) },
			func(b *operator.Builder) error { return b.Owns(&corev1.ConfigMap{}).Complete(idles) },
		},
		"owned by none": {
			func(b *builder.Builder) error { return b.Named("head").Owns(&corev1.ConfigMap{}).Complete(idles) },
			func(b *operator.Builder) error { return b.Named("head").Owns(&corev1.ConfigMap{}).Complete(idles) },
		},
		"watching nothing": {
			func(b *builder.Builder) error { return b.Named("head").Complete(idles) },
			func(b *operator.Builder) error { return b.Named("head").Complete(idles) },
		},
		"an unknown kind": {
			func(b *builder.Builder) error { return b.For(&unknown{}).Complete(idles) },
			func(b *operator.Builder) error { return b.For(&unknown{}).Complete(idles) },
		},
		"watches alone": {
			func(b *builder.Builder) error {
				return b.Named("head").Watches(
					&corev1.ConfigMap{},
					&handler.EnqueueRequestForObject{},
				).WithEventFilter(predicate.Funcs{}).Complete(idles)
			},
			func(b *operator.Builder) error {
				return b.Named("head").Watches(
					&corev1.ConfigMap{},
					&handler.EnqueueRequestForObject{},
				).WithEventFilter(predicate.Funcs{}).Complete(idles)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := text(tc.theirs(builder.ControllerManagedBy(newPlant(t, nil))))
			if diff := cmp.Diff(want, text(tc.ours(operator.NewControllerManagedBy(newPlant(t, nil))))); diff != "" {
				t.Errorf("on a plain manager: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(
				want,
				text(tc.ours(operator.NewControllerManagedBy(newPlant(t, operatortest.New(t))))),
			); diff != "" {
				t.Errorf("with a kit: -want +got\n%s", diff)
			}
		})
	}
}

// unknown is a type without a scheme.
type unknown struct{ appsv1.Deployment }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestPlainManager checks that the builder works without a kit.
func TestPlainManager(t *testing.T) {
	p := newPlant(t, nil)
	asked := make(chan reconcile.Request, 1)
	err := operator.NewControllerManagedBy(p).For(&policyv1.PodDisruptionBudget{}).Owns(&corev1.ConfigMap{}).
		Complete(reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			asked <- req
			return reconcile.Result{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	p.run(t)
	p.ask(t)
	if got := <-asked; got != request {
		t.Errorf("got reconciles of %v", got)
	}
}

// TestOrderOfOptions checks that the later call of WithLogConstructor and WithOptions counts.
func TestOrderOfOptions(t *testing.T) {
	cases := map[string]struct {
		reason string
		build  func(*operator.Builder, func(*reconcile.Request) logr.Logger) *operator.Builder
		used   bool
	}{
		"options first": {
			reason: "the log constructor is kept",
			used:   true,
			build: func(b *operator.Builder, log func(*reconcile.Request) logr.Logger) *operator.Builder {
				return b.WithOptions(controller.Options{}).WithLogConstructor(log)
			},
		},
		"options last": {
			reason: "the options replace the log constructor",
			build: func(b *operator.Builder, log func(*reconcile.Request) logr.Logger) *operator.Builder {
				return b.WithLogConstructor(log).WithOptions(controller.Options{})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var used atomic.Bool
			p, done := newPlant(t, operatortest.New(t)), make(chan struct{}, 1)
			b := operator.NewControllerManagedBy(p).For(&policyv1.PodDisruptionBudget{}).Owns(&corev1.ConfigMap{})
			err := tc.build(b, func(*reconcile.Request) logr.Logger { used.Store(true); return logr.Discard() }).
				Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					done <- struct{}{}
					return reconcile.Result{}, nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			p.run(t)
			p.ask(t)
			<-done
			if used.Load() != tc.used {
				t.Errorf("%s: log constructor used = %v", tc.reason, used.Load())
			}
		})
	}
}

// TestBuildTwice checks that the second controller is complete, too.
func TestBuildTwice(t *testing.T) {
	rec := operatortest.New(t)
	p := newPlant(t, rec)
	b := operator.NewControllerManagedBy(p).For(&policyv1.PodDisruptionBudget{}).Named("head")
	fails := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, reconcile.TerminalError(errTest)
	})
	for range 2 {
		if _, err := b.Build(fails); err != nil {
			t.Fatal(err)
		}
	}
}
