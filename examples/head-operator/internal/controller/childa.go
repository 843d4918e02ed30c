// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator"
)

// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=childas,verbs=get;list;watch
// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=childas/status,verbs=update
// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=childas/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update

// ChildAReconciler maintains one Deployment per ChildA, and mirrors its readiness.
type ChildAReconciler struct {
	client.Client
}

// SetupWithManager adds the reconciler to the manager. The reconciler's own status writes also
// cause reconciles. Thus a comparison with a stale cached status is repeated.
func (r *ChildAReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Client = client.WithFieldOwner(mgr.GetClient(), "childa-controller")
	// The kit's second line: operator instead of ctrl.
	return operator.NewControllerManagedBy(mgr).
		Named("childa-controller").
		For(&demov1alpha1.ChildA{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}

// Reconcile updates the Deployment of one ChildA, and then the ChildA's status. A conflict is an
// ordinary error, so the request is retried.
func (r *ChildAReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var child demov1alpha1.ChildA
	if err := r.Get(ctx, req.NamespacedName, &child); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !child.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector deletes the Deployment
	}

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: child.Namespace, Name: child.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		setDeployment(deployment, &child)
		return controllerutil.SetControllerReference(&child, deployment, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cannot bring Deployment %s up to date: %w", deployment.Name, err)
	}
	logWrite(ctx, deployment, result)

	return ctrl.Result{}, r.updateStatus(ctx, &child, deployment)
}

// updateStatus writes the ChildA's status if it has changed.
func (r *ChildAReconciler) updateStatus(
	ctx context.Context, child *demov1alpha1.ChildA, deployment *appsv1.Deployment,
) error {
	status := child.Status.DeepCopy()
	setStatus(status, child.Generation, deployment.Status.ReadyReplicas, deploymentReadiness(deployment))
	if equality.Semantic.DeepEqual(status, &child.Status) {
		return nil
	}
	child.Status = *status
	if err := r.Status().Update(ctx, child); err != nil {
		return fmt.Errorf("cannot update the status of ChildA %s: %w", child.Name, err)
	}
	return nil
}
