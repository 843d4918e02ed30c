// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

var (
	// created is the creation of all objects, and changed the first reading of the clock.
	created = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	changed = created.Add(time.Minute)
)

// stage is a fake API server that records writes, and a fake scheduler.
type stage struct {
	client.Client
	*PolicyReconciler
	steps []string
	// spans are the attributes of the spans "replace scheduler".
	spans []string
	// said are the texts of these spans: of their statuses, events and errors.
	said []string
	// configuration is what the scheduler runs.
	configuration string
	// broken is a text of configurations that do not start; empty means none.
	broken string
}

// statusStep is the step of a write to a policy's status.
const statusStep = "status of *v1alpha1.SchedulingPolicy"

// errBroken is the error of a broken configuration, with a line of the scheduler's log.
var errBroken = errors.New(`exit status 1, last line "unknown plugin Hidden"`)

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(
		appsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	s := &stage{}
	note := func(verb string, obj client.Object) {
		s.steps = append(s.steps, fmt.Sprintf("%s %T", verb, obj))
	}
	s.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.SchedulingPolicy{}, &appsv1.Deployment{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(c context.Context, in client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				note("create", o)
				return in.Create(c, o, opts...)
			},
			Update: func(c context.Context, in client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				note("update", o)
				return in.Update(c, o, opts...)
			},
			Patch: func(
				c context.Context, in client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
			) error {
				note("patch", o)
				return in.Patch(c, o, p, opts...)
			},
			SubResourceUpdate: func(
				c context.Context, in client.Client, sub string, o client.Object,
				opts ...client.SubResourceUpdateOption,
			) error {
				note(sub+" of", o)
				return in.SubResource(sub).Update(c, o, opts...)
			},
		}).Build()
	now := changed
	s.PolicyReconciler = &PolicyReconciler{
		Client: s.Client, Scheduler: s, Tracer: &recorder{stage: s}, Namespace: "system",
		Now: func() time.Time {
			defer func() { now = now.Add(time.Minute) }()
			return now
		},
	}
	return s
}

// recorder is a tracer that records its spans in a stage.
type recorder struct {
	noop.Tracer
	stage *stage
}

func (r *recorder) Start(
	ctx context.Context, name string, opts ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	var attributes []string
	c := trace.NewSpanStartConfig(opts...)
	for _, a := range c.Attributes() {
		attributes = append(attributes, a.Value.String())
	}
	r.stage.spans = append(r.stage.spans, strings.Join(attributes, " "))
	ctx, span := r.Tracer.Start(ctx, name, opts...)
	return ctx, &recorded{span, r.stage}
}

// recorded is a span that records its texts in a stage.
type recorded struct {
	trace.Span
	stage *stage
}

func (r *recorded) say(text string) { r.stage.said = append(r.stage.said, text) }

func (r *recorded) SetStatus(_ codes.Code, text string) { r.say(text) }

func (r *recorded) RecordError(err error, _ ...trace.EventOption) { r.say(err.Error()) }

func (r *recorded) AddEvent(name string, opts ...trace.EventOption) {
	c := trace.NewEventConfig(opts...)
	r.say(fmt.Sprint(name, c.Attributes()))
}

func (r *recorded) SetAttributes(attributes ...attribute.KeyValue) { r.say(fmt.Sprint(attributes)) }

func (s *stage) Run(_ context.Context, configuration string) error {
	if s.configuration == configuration {
		return nil
	}
	s.steps = append(s.steps, "run")
	if s.broken != "" && strings.Contains(configuration, s.broken) {
		s.configuration = ""
		return errBroken
	}
	s.configuration = configuration
	return nil
}

func (s *stage) Stop() { s.configuration = "" }

// reconcile reconciles the policy pack and returns the steps.
func (s *stage) reconcile(t *testing.T) []string {
	t.Helper()
	return s.reconcileNamed(t, "pack")
}

func (s *stage) reconcileNamed(t *testing.T, name string) []string {
	t.Helper()
	if err := s.try(t.Context(), name); err != nil && err.Error() != errNotStarted.Error() {
		t.Fatal(err)
	}
	return s.steps
}

// try reconciles a policy and returns the error.
func (s *stage) try(ctx context.Context, name string) error {
	s.steps, s.spans, s.said = nil, nil, nil
	_, err := s.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	return err
}

// policy returns the stored policy pack.
func (s *stage) policy(t *testing.T) *v1alpha1.SchedulingPolicy {
	t.Helper()
	return s.policyNamed(t, "pack")
}

func (s *stage) policyNamed(t *testing.T, name string) *v1alpha1.SchedulingPolicy {
	t.Helper()
	var p v1alpha1.SchedulingPolicy
	if err := s.Client.Get(t.Context(), client.ObjectKey{Name: name}, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// change changes the strategy of the policy pack.
func (s *stage) change(t *testing.T, to v1alpha1.Strategy) {
	t.Helper()
	s.update(t, "pack", func(p *v1alpha1.Profile) { p.Strategy = to })
}

// update changes the profile of a policy.
func (s *stage) update(t *testing.T, name string, change func(*v1alpha1.Profile)) {
	t.Helper()
	p := s.policyNamed(t, name)
	change(&p.Spec.Profile)
	p.Generation++
	if err := s.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// restarted returns the value of the annotation of a Deployment's template.
func (s *stage) restarted(t *testing.T, name string) string {
	t.Helper()
	var d appsv1.Deployment
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec.Template.Annotations[Restarted]
}

func pack() *v1alpha1.SchedulingPolicy {
	return &v1alpha1.SchedulingPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "pack", UID: "pack", Generation: 1},
		Spec: v1alpha1.SchedulingPolicySpec{
			Profile:   v1alpha1.Profile{Strategy: v1alpha1.LeastAllocated},
			Workloads: &metav1.LabelSelector{MatchLabels: map[string]string{"placed": "again"}},
		},
	}
}

// deployment returns a complete Deployment that the policy selects.
func deployment(name string, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"placed": "again"},
			CreationTimestamp: metav1.NewTime(created),
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)},
		Status: appsv1.DeploymentStatus{
			Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1,
		},
	}
	d.Spec.Template.Spec.SchedulerName = "pack"
	for _, f := range change {
		f(d)
	}
	return d
}

// TestPlacesAgain: a change of the profile restarts the selected workloads once; everything else
// stays.
func TestPlacesAgain(t *testing.T) {
	s := newStage(
		t,
		pack(),
		deployment("selected"),
		deployment(
			"newer",
			func(d *appsv1.Deployment) { d.CreationTimestamp = metav1.NewTime(changed.Add(time.Hour)) },
		),
		deployment("unselected", func(d *appsv1.Deployment) { d.Labels = nil }),
		deployment("other-scheduler", func(d *appsv1.Deployment) { d.Spec.Template.Spec.SchedulerName = "spread" }),
	)
	first := []string{
		"run", "create *v1.ConfigMap", statusStep, statusStep,
	}
	if diff := cmp.Diff(first, s.reconcile(t)); diff != "" {
		t.Errorf("a first profile restarts nothing: -want +got:\n%s", diff)
	}
	if again := s.reconcile(t); again != nil {
		t.Errorf("a second reconcile must do nothing, not %v", again)
	}

	s.change(t, v1alpha1.MostAllocated)
	second := []string{
		"run", "update *v1.ConfigMap", statusStep, "patch *v1.Deployment",
		statusStep,
	}
	if diff := cmp.Diff(second, s.reconcile(t)); diff != "" {
		t.Errorf("steps of a change: -want +got:\n%s", diff)
	}
	if again := s.reconcile(t); again != nil {
		t.Errorf("after the change, a second reconcile must do nothing, not %v", again)
	}
	want := map[string]string{
		"selected": changed.Format(metav1.RFC3339Micro), "newer": "", "unselected": "", "other-scheduler": "",
	}
	for name, value := range want {
		if got := s.restarted(t, name); got != value {
			t.Errorf("Deployment %s: restarted for %q, want %q", name, got, value)
		}
	}
	if !strings.Contains(s.configuration, "MostAllocated") {
		t.Errorf("the scheduler runs with:\n%s", s.configuration)
	}
}

// TestSameProfile: another order of the same profile replaces nothing, restarts nothing, and has no span.
func TestSameProfile(t *testing.T) {
	s := newStage(t, pack(), deployment("selected"))
	weights := []v1alpha1.Weight{{Plugin: "NodeResourcesFit", Weight: 5}, {Plugin: "ImageLocality", Weight: 7}}
	s.update(t, "pack", func(p *v1alpha1.Profile) { p.Weights = weights })
	s.reconcile(t)
	s.update(t, "pack", func(p *v1alpha1.Profile) {
		p.Weights = []v1alpha1.Weight{weights[1], weights[0], {Plugin: "TaintToleration", Weight: 3}}
	})
	// The status has the new generation.
	if diff := cmp.Diff([]string{statusStep}, s.reconcile(t)); diff != "" {
		t.Errorf("steps: -want +got:\n%s", diff)
	}
	if len(s.spans) > 0 {
		t.Errorf("an unchanged scheduler has the spans %v", s.spans)
	}
	if got := s.restarted(t, "selected"); got != "" {
		t.Errorf("the Deployment was restarted for %s", got)
	}
}

// TestExit: after the end of the scheduler alone, nothing is restarted.
func TestExit(t *testing.T) {
	s := newStage(t, pack(), deployment("selected"))
	s.reconcile(t)
	s.configuration = ""
	if diff := cmp.Diff([]string{"run"}, s.reconcile(t)); diff != "" {
		t.Errorf("steps: -want +got:\n%s", diff)
	}
}

// TestRollingOut: a policy is ready when its workloads are.
func TestRollingOut(t *testing.T) {
	s := newStage(t, pack(), deployment("selected", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }))
	s.reconcile(t)
	c := meta.FindStatusCondition(s.policy(t).Status.Conditions, v1alpha1.Ready)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonReplacing {
		t.Errorf("the condition is %v", c)
	}
}

// TestRejected: a profile that does not start restarts no workload, leaves the last configuration running,
// and is not tried again until it changes.
func TestRejected(t *testing.T) {
	s := newStage(t, pack(), spread(), deployment("selected"))
	s.reconcile(t)
	s.reconcileNamed(t, "spread")
	last := s.configuration
	s.change(t, v1alpha1.MostAllocated)
	s.broken = "MostAllocated"
	if diff := cmp.Diff([]string{"run", "run", statusStep}, s.reconcile(t)); diff != "" {
		t.Errorf("steps: -want +got:\n%s", diff)
	}
	check := func() {
		t.Helper()
		status := s.policy(t).Status
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.Ready)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonSchedulerFailed ||
			!strings.Contains(c.Message, errBroken.Error()) || status.Profile.Strategy != v1alpha1.LeastAllocated {
			t.Errorf("the status is %v", status)
		}
		if s.configuration != last {
			t.Errorf("the scheduler does not run with the last configuration:\n%s", cmp.Diff(last, s.configuration))
		}
	}
	check()
	for _, policy := range []string{"pack", "spread"} {
		if again := s.reconcileNamed(t, policy); again != nil {
			t.Errorf("a second reconcile of %s must do nothing, not %v", policy, again)
		}
	}
	s.configuration = "" // an end by itself
	s.broken = ""
	if diff := cmp.Diff([]string{"run"}, s.reconcile(t)); diff != "" {
		t.Errorf("steps after an end: -want +got:\n%s", diff)
	}
	check()

	s.change(t, v1alpha1.LeastAllocated)
	s.reconcile(t)
	if c := meta.FindStatusCondition(s.policy(t).Status.Conditions, v1alpha1.Ready); c.Status != metav1.ConditionTrue {
		t.Errorf("with the profile that runs, the condition is %v", c)
	}
	s.change(t, v1alpha1.MostAllocated)
	s.reconcile(t)
	if !strings.Contains(s.configuration, "MostAllocated") || s.restarted(t, "selected") == "" {
		t.Errorf("a repaired profile does not run, or its Deployment is not restarted:\n%s", s.configuration)
	}
}

// TestSchedulerFails: a scheduler that does not start with the last profile either is tried again.
func TestSchedulerFails(t *testing.T) {
	s := newStage(t, pack(), deployment("selected"))
	s.reconcile(t)
	s.change(t, v1alpha1.MostAllocated)
	s.broken = "profiles"
	if diff := cmp.Diff([]string{"run", "run", statusStep}, s.reconcile(t)); diff != "" {
		t.Errorf("steps: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"run", "run"}, s.reconcile(t)); diff != "" {
		t.Errorf("steps of the second reconcile: -want +got:\n%s", diff)
	}
	status := s.policy(t).Status
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.Ready)
	if c == nil || c.Reason != v1alpha1.ReasonSchedulerFailed || status.Profile.Strategy != v1alpha1.LeastAllocated {
		t.Errorf("the status is %v", status)
	}
	s.broken = ""
	s.reconcile(t)
	if s.restarted(t, "selected") == "" {
		t.Error("the Deployment must be restarted once the scheduler runs")
	}
}

// TestLastPolicy: without a policy there is no scheduler.
func TestLastPolicy(t *testing.T) {
	s := newStage(t, pack())
	s.reconcile(t)
	if err := s.Delete(t.Context(), pack()); err != nil {
		t.Fatal(err)
	}
	s.reconcile(t)
	if s.configuration != "" {
		t.Error("the scheduler still runs")
	}
}

// TestLastRunning: after the deletion of the only policy that ran, nothing runs, even if another policy exists.
func TestLastRunning(t *testing.T) {
	cases := map[string]struct {
		reason string
		// prepare comes before the deletion of pack.
		prepare func(*testing.T, *stage)
	}{
		"Rejected": {
			reason: "the profile of spread is rejected",
			prepare: func(t *testing.T, s *stage) {
				s.broken = "schedulerName: spread"
				s.reconcileNamed(t, "spread")
			},
		},
		"New": {
			reason:  "the reconcile of spread comes later",
			prepare: func(*testing.T, *stage) {},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, pack(), spread())
			s.reconcile(t)
			tc.prepare(t, s)
			if !strings.Contains(s.configuration, "schedulerName: pack") {
				t.Fatalf("before the deletion of pack, the scheduler runs with:\n%s", s.configuration)
			}
			if err := s.Delete(t.Context(), pack()); err != nil {
				t.Fatal(err)
			}
			s.reconcile(t)
			if s.configuration != "" {
				t.Errorf("%s: after the deletion of pack, the scheduler runs with:\n%s", tc.reason, s.configuration)
			}
			if len(s.ran) > 0 {
				t.Errorf("after the deletion of pack, its profile is remembered: %v", s.ran)
			}
			s.broken = ""
			s.update(t, "spread", func(p *v1alpha1.Profile) { p.DisabledFilters = []string{"NodePorts"} })
			s.reconcileNamed(t, "spread")
			if !strings.Contains(s.configuration, "schedulerName: spread") {
				t.Errorf("after a change of spread, the scheduler runs with:\n%s", s.configuration)
			}
		})
	}
}

// TestHiddenLog: the scheduler's last line of log may quote its configuration. It is in the operator's log, and
// in no span. The kit's span of the reconcile has the text of its error.
func TestHiddenLog(t *testing.T) {
	cases := map[string]struct {
		reason string
		// prepare comes before the reconcile of pack.
		prepare func(*testing.T, *stage)
		// want is the error, and said are the texts of the span.
		want error
		said []string
	}{
		"First": {
			reason:  "no other profile can run",
			prepare: func(_ *testing.T, s *stage) { s.broken = "profiles" },
			want:    errNotStarted,
			said:    []string{errNotStarted.Error()},
		},
		"Rejected": {
			reason: "the last profile runs again",
			prepare: func(t *testing.T, s *stage) {
				s.reconcile(t)
				s.change(t, v1alpha1.MostAllocated)
				s.broken = "MostAllocated"
			},
			said: []string{errNotStarted.Error()},
		},
		"Neither": {
			reason: "the last profile does not start either",
			prepare: func(t *testing.T, s *stage) {
				s.reconcile(t)
				s.change(t, v1alpha1.MostAllocated)
				s.broken = "profiles"
			},
			want: errNotStarted,
			said: []string{errNotStarted.Error()},
		},
		"Ended": {
			reason: "a scheduler that has ended does not start again",
			prepare: func(t *testing.T, s *stage) {
				s.reconcile(t)
				s.configuration, s.broken = "", "profiles"
			},
			want: errNotStarted,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, pack())
			tc.prepare(t, s)
			var lines strings.Builder
			logger := funcr.New(func(_, line string) { lines.WriteString(line) }, funcr.Options{})
			err := s.try(log.IntoContext(t.Context(), logger), "pack")
			if diff := cmp.Diff(fmt.Sprint(tc.want), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s: error of the reconcile: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.said, s.said); diff != "" {
				t.Errorf("%s: texts of the span: -want +got:\n%s", tc.reason, diff)
			}
			if !strings.Contains(lines.String(), "unknown plugin Hidden") {
				t.Errorf("%s: the operator's log does not have the reason: %s", tc.reason, lines.String())
			}
		})
	}
}

// spread returns a policy without workloads.
func spread() *v1alpha1.SchedulingPolicy {
	return &v1alpha1.SchedulingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "spread", UID: "spread", Generation: 1}}
}

// TestOtherPolicy: each change is one replacement, in the span of the policy that changed, even if
// another policy is reconciled first.
func TestOtherPolicy(t *testing.T) {
	cases := map[string]struct {
		reason string
		// prepare comes after the change of pack, and before the reconcile of spread.
		prepare func(*testing.T, *stage)
		// want and spans are those of spread.
		want, spans []string
	}{
		"Running": {
			reason:  "a running scheduler is left to the changed policy",
			prepare: func(*testing.T, *stage) {},
		},
		"Ended": {
			reason:  "an ended scheduler must run soon, with its last configuration",
			prepare: func(_ *testing.T, s *stage) { s.configuration = "" },
			want:    []string{"run"},
		},
		"Deleted": {
			reason: "a deletion removes the deleted profile alone",
			prepare: func(t *testing.T, s *stage) {
				if err := s.Delete(t.Context(), spread()); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"run", "update *v1.ConfigMap"},
		},
		"Changed": {
			reason: "of two changes at once, each is a replacement with its own difference",
			prepare: func(t *testing.T, s *stage) {
				s.update(t, "spread", func(p *v1alpha1.Profile) { p.DisabledFilters = []string{"NodePorts"} })
			},
			want: []string{
				"run", "update *v1.ConfigMap", statusStep,
				statusStep,
			},
			spans: []string{`spread ["Filter NodePorts: disabled"]`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, pack(), spread())
			s.reconcile(t)
			s.reconcileNamed(t, "spread")
			s.change(t, v1alpha1.MostAllocated)
			tc.prepare(t, s)
			if diff := cmp.Diff(tc.want, s.reconcileNamed(t, "spread")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.spans, s.spans); diff != "" {
				t.Errorf("%s: spans of the other policy: -want +got:\n%s", tc.reason, diff)
			}
			if s.configuration == "" || strings.Contains(s.configuration, "MostAllocated") {
				t.Errorf("%s: before the reconcile of pack, the scheduler runs with:\n%s", tc.reason, s.configuration)
			}
			s.broken = ""
			if steps := s.reconcile(t); !slices.Contains(steps, "run") {
				t.Errorf("the changed policy has the steps %v without a run", steps)
			}
			want := []string{`pack ["Score NodeResourcesFit: LeastAllocated → MostAllocated"]`}
			if diff := cmp.Diff(want, s.spans); diff != "" {
				t.Errorf("spans of the changed policy: -want +got:\n%s", diff)
			}
			if !strings.Contains(s.configuration, "MostAllocated") {
				t.Errorf("the scheduler runs with:\n%s", s.configuration)
			}
		})
	}
}

// TestFirstPolicies: each new policy is added by its own reconcile.
func TestFirstPolicies(t *testing.T) {
	s := newStage(t, pack(), spread())
	if steps := s.reconcileNamed(t, "absent"); steps != nil {
		t.Errorf("without a profile that ran, an absent policy must do nothing, not %v", steps)
	}
	s.broken = "schedulerName: pack"
	s.reconcile(t)
	s.reconcileNamed(t, "spread")
	if !strings.Contains(s.configuration, "schedulerName: spread") {
		t.Errorf("beside a broken new policy, the scheduler runs with:\n%s", s.configuration)
	}
	if diff := cmp.Diff([]string{"spread"}, s.spans); diff != "" {
		t.Errorf("spans of a first profile: -want +got:\n%s", diff)
	}
	s.broken = ""
	s.reconcile(t)
	if diff := cmp.Diff([]string{"pack"}, s.spans); diff != "" {
		t.Errorf("spans of the repaired policy: -want +got:\n%s", diff)
	}
}

// TestStaleStatus: a status that is older than the scheduler's configuration makes no second span.
func TestStaleStatus(t *testing.T) {
	s := newStage(t, pack())
	s.reconcile(t)
	s.change(t, v1alpha1.MostAllocated)
	stale := s.policy(t).Status
	s.reconcile(t)
	p := s.policy(t)
	p.Status = stale
	if err := s.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	s.reconcile(t)
	if len(s.spans) > 0 {
		t.Errorf("a second reconcile has the spans %v", s.spans)
	}
}
