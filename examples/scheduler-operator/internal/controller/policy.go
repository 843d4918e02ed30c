// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles SchedulingPolicies. It makes the scheduler run with their profiles, keeps one
// ConfigMap with the configuration that runs, and restarts the workloads of a changed policy.
package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/internal/configuration"
	"github.com/kube-lifeline/lifeline/operator"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 rbac:roleName=scheduler-operator paths=. output:rbac:dir=../../config/rbac

// +kubebuilder:rbac:groups=scheduling.lifeline.dev,resources=schedulingpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.lifeline.dev,resources=schedulingpolicies/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",namespace=scheduler-operator-system,resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",namespace=scheduler-operator-system,resources=configmaps,resourceNames=lifeline-scheduler,verbs=get;list;watch;update

const (
	// ConfigMapName is the ConfigMap with the configuration that runs, for people to read.
	ConfigMapName = "lifeline-scheduler"
	// ConfigMapKey is the key of the configuration in it.
	ConfigMapKey = "scheduler.yaml"

	// spanReplace is the span around the end of one scheduler and the start of the next.
	spanReplace = "replace scheduler"
	keyProfile  = attribute.Key("k8s.scheduler.profile")
	keyChanges  = attribute.Key("k8s.scheduler.changes")
)

// Scheduler runs with one configuration at a time.
type Scheduler interface {
	// Run makes it run with this configuration, and returns when it is ready. It does nothing if the
	// configuration is unchanged.
	Run(ctx context.Context, configuration string) error
	// Stop ends it.
	Stop()
}

// PolicyReconciler reconciles SchedulingPolicies, one at a time.
type PolicyReconciler struct {
	client.Client
	Scheduler Scheduler
	// Exits has an item after the scheduler has ended by itself.
	Exits <-chan event.GenericEvent
	// Tracer makes the span "replace scheduler".
	Tracer trace.Tracer
	// Namespace is that of the ConfigMap.
	Namespace string
	// Kubeconfig is the scheduler's; empty means that of its service account.
	Kubeconfig string
	// Now is the clock.
	Now func() time.Time

	// ran has the profiles that the scheduler ran last, by the UIDs of their policies. The client's
	// cache may lag behind Status.Profile. Without an entry, Status.Profile applies.
	ran map[types.UID]v1alpha1.Profile
	// rejected has the profiles with which the scheduler did not start, although it did with the last ones.
	rejected map[types.UID]rejection
}

// rejection is a profile that does not run, and the reason.
type rejection struct {
	profile v1alpha1.Profile
	why     string
}

// SetupWithManager adds the reconciler to the manager.
func (r *PolicyReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Client = client.WithFieldOwner(mgr.GetClient(), "scheduler-operator")
	// The kit's second line: operator instead of ctrl.
	return operator.NewControllerManagedBy(mgr).
		Named("scheduling-policy").
		For(&v1alpha1.SchedulingPolicy{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(ofDeployment)).
		WatchesRawSource(source.Channel(r.Exits, handler.EnqueueRequestsFromMapFunc(r.all))).
		Complete(r)
}

// ofDeployment returns the policy that a Deployment's Pods name as their scheduler.
func ofDeployment(_ context.Context, obj client.Object) []reconcile.Request {
	d, ok := obj.(*appsv1.Deployment)
	if !ok || d.Spec.Template.Spec.SchedulerName == corev1.DefaultSchedulerName {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: d.Spec.Template.Spec.SchedulerName}}}
}

func (r *PolicyReconciler) all(ctx context.Context, _ client.Object) (out []reconcile.Request) {
	policies, err := r.policies(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot reconcile after the end of the scheduler")
	}
	for i := range policies {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&policies[i])})
	}
	return out
}

// policies returns the policies that are not being deleted.
func (r *PolicyReconciler) policies(ctx context.Context) ([]v1alpha1.SchedulingPolicy, error) {
	var list v1alpha1.SchedulingPolicyList
	if err := r.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("cannot list SchedulingPolicies: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p v1alpha1.SchedulingPolicy) bool {
		return !p.DeletionTimestamp.IsZero()
	}), nil
}

// Reconcile makes the scheduler run with the new profile of one policy, and restarts the outdated
// workloads of that policy. Each step follows from the stored state, so it can be repeated.
func (r *PolicyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	policies, err := r.policies(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	var policy *v1alpha1.SchedulingPolicy // nil after its deletion
	if at := slices.IndexFunc(policies, func(p v1alpha1.SchedulingPolicy) bool { return p.Name == req.Name }); at >= 0 {
		policy = &policies[at]
	}
	if err := r.configure(ctx, policies, req.Name, policy); err != nil {
		return ctrl.Result{}, err
	}
	if policy == nil {
		r.forget(policies)
		return ctrl.Result{}, nil
	}
	if why, ok := r.rejection(policy); ok {
		return ctrl.Result{}, r.writeReady(ctx, policy, rejected(why))
	}
	if err := r.recordProfile(ctx, policy); err != nil {
		return ctrl.Result{}, err
	}
	placed, err := r.place(ctx, policy)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.writeReady(ctx, policy, placed)
}

// decided returns the policies with the profiles to run: the new one of the named policy, unless it is
// rejected, and the last ones of the others. So each change is one replacement in its own trace, and other
// policies do not start a broken profile.
func (r *PolicyReconciler) decided(
	policies []v1alpha1.SchedulingPolicy, name string,
) (out []v1alpha1.SchedulingPolicy) {
	for _, p := range policies {
		if _, broken := r.rejection(&p); broken || p.Name != name {
			old := r.old(&p)
			if old == nil {
				continue // its own reconcile adds it
			}
			p.Spec.Profile = *old
		}
		out = append(out, p)
	}
	return out
}

// configure makes the scheduler run with the decided profiles, and writes the configuration that runs.
// Without a profile, it stops the scheduler. The status of the policy has the condition of a failed start.
// policy is nil after its deletion. The error of a start is only logged, because the kit's span has the text
// of the returned error.
func (r *PolicyReconciler) configure(
	ctx context.Context, policies []v1alpha1.SchedulingPolicy, name string, policy *v1alpha1.SchedulingPolicy,
) error {
	decided := r.decided(policies, name)
	if len(decided) == 0 {
		// The profile of a deleted policy must not run on. A scheduler without a profile would be a second
		// default-scheduler.
		r.Scheduler.Stop()
		return nil
	}
	text, err := configuration.Render(decided, r.Kubeconfig)
	if err != nil {
		return err
	}
	if policy != nil && r.changed(policy) {
		text, err = r.replace(ctx, policies, policy, text)
	} else {
		err = r.Scheduler.Run(ctx, text) // no span for a start after an exit: nothing has changed
	}
	if err == nil {
		return r.writeConfigMap(ctx, text)
	}
	if policy != nil {
		if err := r.writeReady(ctx, policy, failed()); err != nil {
			log.FromContext(ctx).Error(err, "cannot report the failed scheduler")
		}
	}
	log.FromContext(ctx).Error(err, "cannot run the scheduler")
	return errNotStarted
}

func (r *PolicyReconciler) writeConfigMap(ctx context.Context, text string) error {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: ConfigMapName}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, m, func() error {
		m.Data = map[string]string{ConfigMapKey: text}
		return nil
	}); err != nil {
		return fmt.Errorf("cannot write ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}

// replace makes the scheduler run with the new profile of a policy, in a span with the difference to the one
// before. It returns the configuration that runs. If the scheduler does not start, that is the last one, and
// the new profile is rejected. If that one does not start either, the profile is not the cause: it is an
// error, and nothing runs.
func (r *PolicyReconciler) replace(
	ctx context.Context, policies []v1alpha1.SchedulingPolicy, policy *v1alpha1.SchedulingPolicy, text string,
) (string, error) {
	attributes := []attribute.KeyValue{keyProfile.String(policy.Name)}
	if old := r.old(policy); old != nil {
		attributes = append(attributes, keyChanges.StringSlice(configuration.Changes(*old, policy.Spec.Profile)))
	}
	ctx, span := lifeline.Start(ctx, r.Tracer, policy, spanReplace, trace.WithAttributes(attributes...))
	defer span.End()
	err := r.Scheduler.Run(ctx, text)
	if err == nil {
		if r.ran == nil {
			r.ran = map[types.UID]v1alpha1.Profile{}
		}
		r.ran[policy.UID] = *policy.Spec.Profile.DeepCopy()
		return text, nil
	}
	span.SetStatus(codes.Error, errNotStarted.Error()) // err has a line of the scheduler's log
	last := r.decided(policies, "")
	if len(last) == 0 {
		return "", err
	}
	text, restored := configuration.Render(last, r.Kubeconfig)
	if restored == nil {
		restored = r.Scheduler.Run(ctx, text)
	}
	if restored != nil {
		return "", errors.Join(err, restored)
	}
	log.FromContext(ctx).Error(err, "cannot run the new profile; the scheduler runs with the last ones")
	if r.rejected == nil {
		r.rejected = map[types.UID]rejection{}
	}
	r.rejected[policy.UID] = rejection{*policy.Spec.Profile.DeepCopy(), err.Error()}
	return text, nil
}

// rejection returns why the profile of a policy does not run. A rejected profile is not tried again until
// it has changed: each start would end the running scheduler.
func (r *PolicyReconciler) rejection(policy *v1alpha1.SchedulingPolicy) (why string, ok bool) {
	rej, ok := r.rejected[policy.UID]
	if ok && !configuration.Same(rej.profile, policy.Spec.Profile) {
		delete(r.rejected, policy.UID)
		return "", false
	}
	return rej.why, ok
}

// old returns the profile that the scheduler ran last for a policy; nil means none.
func (r *PolicyReconciler) old(policy *v1alpha1.SchedulingPolicy) *v1alpha1.Profile {
	if ran, ok := r.ran[policy.UID]; ok {
		return &ran
	}
	return policy.Status.Profile
}

// forget removes the profiles of deleted policies.
func (r *PolicyReconciler) forget(policies []v1alpha1.SchedulingPolicy) {
	gone := func(uid types.UID) bool {
		return !slices.ContainsFunc(policies, func(p v1alpha1.SchedulingPolicy) bool { return p.UID == uid })
	}
	maps.DeleteFunc(r.ran, func(uid types.UID, _ v1alpha1.Profile) bool { return gone(uid) })
	maps.DeleteFunc(r.rejected, func(uid types.UID, _ rejection) bool { return gone(uid) })
}

// changed reports whether the scheduler must be replaced for a policy's profile.
func (r *PolicyReconciler) changed(policy *v1alpha1.SchedulingPolicy) bool {
	if _, broken := r.rejection(policy); broken {
		return false
	}
	old := r.old(policy)
	return old == nil || !configuration.Same(*old, policy.Spec.Profile)
}

// recordProfile records in the status that the scheduler runs the policy's profile. Workloads are
// restarted after that alone: after a crash in between, they are not restarted twice.
func (r *PolicyReconciler) recordProfile(ctx context.Context, policy *v1alpha1.SchedulingPolicy) error {
	status := policy.Status.DeepCopy()
	if status.Profile != nil && configuration.Same(*status.Profile, policy.Spec.Profile) {
		return nil
	}
	if status.Profile != nil {
		now := metav1.NewMicroTime(r.Now())
		status.Changed = &now
	}
	status.Profile = policy.Spec.Profile.DeepCopy()
	setReady(status, policy.Generation, replacing())
	return r.writeStatus(ctx, policy, status)
}

// writeReady writes the condition Ready.
func (r *PolicyReconciler) writeReady(ctx context.Context, policy *v1alpha1.SchedulingPolicy, ready readiness) error {
	status := policy.Status.DeepCopy()
	setReady(status, policy.Generation, ready)
	return r.writeStatus(ctx, policy, status)
}

// writeStatus writes the status if it differs.
func (r *PolicyReconciler) writeStatus(
	ctx context.Context, policy *v1alpha1.SchedulingPolicy, status *v1alpha1.SchedulingPolicyStatus,
) error {
	if equality.Semantic.DeepEqual(status, &policy.Status) {
		return nil
	}
	policy.Status = *status
	if err := r.Status().Update(ctx, policy); err != nil {
		return fmt.Errorf("cannot update the status of SchedulingPolicy %s: %w", policy.Name, err)
	}
	return nil
}
