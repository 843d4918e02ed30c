// SPDX-License-Identifier: Apache-2.0

package operatortest_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
)

// A test of an operator, against envtest or a cluster, checks the trace of one change in a line.
func Example() {
	var ( // from the test's setup
		t          *testing.T
		cfg        *rest.Config
		reconciler reconcile.Reconciler
		write      func()
	)
	test := func() {
		rec := operatortest.New(t)
		mgr, err := operator.NewManager(cfg, ctrl.Options{}, rec.Option())
		if err != nil {
			t.Fatal(err)
		}
		if err := operator.NewControllerManagedBy(mgr).For(&appsv1.Deployment{}).Named("site").Complete(
			reconciler,
		); err != nil {
			t.Fatal(err)
		}
		// Here the test starts the manager as usual.
		write()
		rec.Wait(t, "site reconcile")
		rec.OneTrace(t, "site reconcile", "create ReplicaSet")
	}
	_ = test
	// Output:
}
