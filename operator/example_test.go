// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// reconciler represents the user's reconciler.
type reconciler struct{ client.Client }

// Reconcile contains no tracing code.
func (reconciler) Reconcile(context.Context, ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// defaulter represents the user's defaulter.
type defaulter struct{}

// Default contains no tracing code.
func (defaulter) Default(context.Context, *appsv1.Deployment) error { return nil }

// run is an operator's main function, as in docs/guides/operators.md.
func run() error {
	options := tracing.Options{ServiceName: "site-operator"}
	options.BindFlags(flag.CommandLine)
	flag.Parse()

	tracer, err := tracing.New(options)
	if err != nil {
		return err
	}
	defer func() { // send the last spans
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := tracer.Shutdown(ctx); err != nil {
			ctrl.Log.Error(err, "cannot send the last spans")
		}
	}()
	mgr, err := operator.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{}, operator.WithTracerProvider(tracer))
	if err != nil {
		return err
	}
	err = operator.NewControllerManagedBy(mgr).
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Named("site").
		Complete(reconciler{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// A complete operator: flags set up tracing, and package operator replaces ctrl.
func Example() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A mutating webhook gives an object a context if its writer supplied none.
func ExampleWebhook() {
	setup := func(mgr ctrl.Manager) {
		webhook := admission.WithDefaulter(mgr.GetScheme(), defaulter{})
		mgr.GetWebhookServer().Register("/mutate-web-example-com-v1-site",
			operator.Webhook(mgr, webhook, operator.GivingContexts()))
	}
	_ = setup
}

// NewManager takes the options.
func ExampleNewManager() {
	mgr, err := operator.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{},
		operator.WithLinks(),                      // a linked trace per change and object
		operator.WithConvention(lifeline.KEP5915), // write contexts under tracing.k8s.io/
		operator.WithReads(),                      // also trace reads without an informer
		operator.WithConverged(func(obj client.Object) bool { // define convergence
			d, ok := obj.(*appsv1.Deployment)
			return ok && d.Status.ObservedGeneration == d.Generation && d.Status.UnavailableReplicas == 0
		}),
	)
	_, _ = mgr, err
}
