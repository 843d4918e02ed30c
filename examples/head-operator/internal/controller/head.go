// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator"
)

// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=heads,verbs=get;list;watch
// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=heads/status,verbs=update
// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=heads/finalizers,verbs=update
// +kubebuilder:rbac:groups=demo.lifeline.dev,resources=childas,verbs=get;list;watch;create;update

// HeadReconciler maintains one ChildA per Head, and mirrors its readiness.
type HeadReconciler struct {
	client.Client
}

// SetupWithManager adds the reconciler to the manager. The reconciler's own status writes also
// cause reconciles. Thus a comparison with a stale cached status is repeated.
func (r *HeadReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Client = client.WithFieldOwner(mgr.GetClient(), "head-controller")
	// The kit's second line: operator instead of ctrl.
	return operator.NewControllerManagedBy(mgr).
		Named("head-controller").
		For(&demov1alpha1.Head{}).
		Owns(&demov1alpha1.ChildA{}).
		Complete(r)
}

// Reconcile updates the ChildA of one Head, and then the Head's status. A conflict is an ordinary
// error, so the request is retried.
func (r *HeadReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var head demov1alpha1.Head
	if err := r.Get(ctx, req.NamespacedName, &head); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !head.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector deletes the ChildA
	}

	child := &demov1alpha1.ChildA{ObjectMeta: metav1.ObjectMeta{Namespace: head.Namespace, Name: head.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, child, func() error {
		child.Spec.Image = head.Spec.Image
		child.Spec.Replicas = ptr.Deref(head.Spec.Replicas, demov1alpha1.DefaultReplicas)
		return controllerutil.SetControllerReference(&head, child, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cannot bring ChildA %s up to date: %w", child.Name, err)
	}
	logWrite(ctx, child, result)

	return ctrl.Result{}, r.updateStatus(ctx, &head, child)
}

// updateStatus writes the Head's status if it has changed.
func (r *HeadReconciler) updateStatus(ctx context.Context, head *demov1alpha1.Head, child *demov1alpha1.ChildA) error {
	status := head.Status.DeepCopy()
	setStatus(status, head.Generation, child.Status.ReadyReplicas, childAReadiness(child))
	if equality.Semantic.DeepEqual(status, &head.Status) {
		return nil
	}
	head.Status = *status
	if err := r.Status().Update(ctx, head); err != nil {
		return fmt.Errorf("cannot update the status of Head %s: %w", head.Name, err)
	}
	return nil
}
