// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unsettled names something in the namespace that its controller is not done with;
// empty if there is nothing.
func (s *stage) unsettled() string {
	s.Helper()
	return cmp.Or(s.deployments(), s.replicaSets(), s.statefulSets(), s.daemonSets(), s.jobs(), s.pods())
}

// cached reads what the API server remembers, which costs it little.
var cached = metav1.ListOptions{ResourceVersion: "0"}

func (s *stage) no(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// open describes an object that has not settled.
func open(o metav1.Object, done bool, status any) string {
	switch {
	case o.GetDeletionTimestamp() != nil:
		return o.GetName() + " is going"
	case !done:
		return fmt.Sprintf("%s %T generation %d: %+v", o.GetName(), o, o.GetGeneration(), status)
	}
	return ""
}

func (s *stage) deployments() (why string) {
	s.Helper()
	all, err := s.client.AppsV1().Deployments(s.ns).List(s.Context(), cached)
	s.no(err)
	for _, d := range all.Items {
		st := d.Status
		done := st.ObservedGeneration == d.Generation && st.Replicas == *d.Spec.Replicas &&
			st.ReadyReplicas == st.Replicas
		if !d.Spec.Paused {
			// The last that its controller writes of a rollout.
			done = done && st.UpdatedReplicas == st.Replicas &&
				slices.ContainsFunc(st.Conditions, func(c appsv1.DeploymentCondition) bool {
					return c.Type == appsv1.DeploymentProgressing && c.Reason == "NewReplicaSetAvailable"
				})
		}
		why = cmp.Or(why, open(&d, done, st))
	}
	return why
}

func (s *stage) replicaSets() (why string) {
	s.Helper()
	all, err := s.client.AppsV1().ReplicaSets(s.ns).List(s.Context(), cached)
	s.no(err)
	for _, r := range all.Items {
		st := r.Status
		why = cmp.Or(
			why,
			open(
				&r,
				st.ObservedGeneration == r.Generation && st.Replicas == *r.Spec.Replicas &&
					st.ReadyReplicas == st.Replicas,
				st,
			),
		)
	}
	return why
}

func (s *stage) statefulSets() (why string) {
	s.Helper()
	all, err := s.client.AppsV1().StatefulSets(s.ns).List(s.Context(), cached)
	s.no(err)
	for _, r := range all.Items {
		st := r.Status
		why = cmp.Or(
			why,
			open(
				&r,
				st.ObservedGeneration == r.Generation && st.Replicas == *r.Spec.Replicas &&
					st.ReadyReplicas == st.Replicas &&
					st.CurrentRevision == st.UpdateRevision &&
					st.CurrentReplicas == st.Replicas,
				st,
			),
		)
	}
	return why
}

func (s *stage) daemonSets() (why string) {
	s.Helper()
	all, err := s.client.AppsV1().DaemonSets(s.ns).List(s.Context(), cached)
	s.no(err)
	for _, r := range all.Items {
		st := r.Status
		why = cmp.Or(why, open(&r, st.ObservedGeneration == r.Generation && st.DesiredNumberScheduled > 0 &&
			st.UpdatedNumberScheduled == st.DesiredNumberScheduled && st.NumberReady == st.DesiredNumberScheduled, st))
	}
	return why
}

func (s *stage) jobs() (why string) {
	s.Helper()
	all, err := s.client.BatchV1().Jobs(s.ns).List(s.Context(), cached)
	s.no(err)
	for _, j := range all.Items {
		done := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Status == corev1.ConditionTrue &&
				(c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed || c.Type == batchv1.JobSuspended)
		})
		why = cmp.Or(why, open(&j, done, j.Status))
	}
	return why
}

func (s *stage) pods() (why string) {
	s.Helper()
	all, err := s.client.CoreV1().Pods(s.ns).List(s.Context(), cached)
	s.no(err)
	for _, p := range all.Items {
		why = cmp.Or(why, open(&p, p.Status.Phase != corev1.PodPending && p.Status.Phase != "", p.Status.Phase))
	}
	return why
}
