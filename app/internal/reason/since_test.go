// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// since sets the transition time of the last condition.
func since(at time.Time) func(*observation.State) {
	return func(s *observation.State) { s.Conditions[len(s.Conditions)-1].Since = at }
}

// found marks a version as the state at the start of the observer.
func found(v *history.Version) *history.Version {
	v.Baseline, v.Listed = true, true
	v.Seen = epoch.Add(time.Hour)
	return v
}

// TestSinceOfFound: an object that was found with its reason has it since the transition of a condition, since the
// write of a field, or since its creation. A category alone shows no time.
func TestSinceOfFound(t *testing.T) {
	at := func(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }
	created := func(s *observation.State) { s.Created = at(1) }
	for name, tc := range map[string]struct {
		version *history.Version
		events  []*history.Event
		want    Category
		since   time.Time
	}{
		"Job": {version(
			kind.Job.Kind, created, condition("Failed", "True", "BackoffLimitExceeded", ""), since(at(5)),
			func(s *observation.State) { s.Progress = observation.ProgressFailed },
		), nil, JobBackoffLimit, at(5)},
		"Node": {version(
			kind.Node.Kind, created, condition("Ready", "Unknown", "NodeStatusUnknown", ""), since(at(5)),
		), nil, NodeNotReady, at(5)},
		"Deadline": {version(
			kind.Deployment.Kind, created, condition("Progressing", "False", "ProgressDeadlineExceeded", ""),
			since(at(5)),
		), nil, ProgressDeadline, at(5)},
		"Pod": {version(
			kind.Pod.Kind, created, pod(waitingFor("ErrImagePull", "not found")),
			condition("PodScheduled", "True", "", ""), since(at(2)), condition("Ready", "False", "", ""), since(at(3)),
		), nil, ImageNotFound, at(3)},
		"Unscheduled": {version(
			kind.Pod.Kind, created, unbound, condition("PodScheduled", "False", "Unschedulable", "0/1 nodes"),
			since(at(2)),
		), nil, Unschedulable, at(2)},
		"Claim": {version(kind.PersistentVolumeClaim.Kind, created),
			event("WaitForFirstConsumer", "", ""), ClaimUnused, at(1)},
		"Custom": {version(
			kind.Certificate.Kind, created, condition("Ready", "False", "Failed", "denied"), since(at(5)),
		), nil, Certificate, at(5)},
		"Phase": {version(
			kind.Certificate.Kind, created, progressing("it failed"),
		), nil, Certificate, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			v := found(tc.version)
			r := Of(v, tc.events)
			if r.Category != tc.want {
				t.Fatalf("got %+v, want %s", r, tc.want)
			}
			if got := Since(r, v, Waits([]*history.Version{v}, tc.events)); !got.Equal(tc.since) {
				t.Errorf("since: got %s, want %s", got, tc.since)
			}
		})
	}
}

// TestSinceSeen: the first version with the reason has precedence over the whole seconds of a condition.
func TestSinceSeen(t *testing.T) {
	v := version(
		kind.Certificate.Kind, condition("Ready", "False", "Failed", "denied"), since(epoch.Add(-time.Second)),
	)
	if got := Since(Of(v, nil), v, Waits([]*history.Version{v}, nil)); !got.Equal(epoch) {
		t.Errorf("got %s, want the time of the version, %s", got, epoch)
	}
}

// TestStandingSince: an object in its desired state that does not work shows since when.
func TestStandingSince(t *testing.T) {
	later := epoch.Add(10 * time.Minute)
	managed := func(s *observation.State) {
		s.Managers = []observation.Manager{{Name: "first", Time: epoch}, {Name: "kubectl", Time: later}}
	}
	slice := version(kind.EndpointSlice.Kind, managed, func(s *observation.State) {
		s.Endpoints = &observation.Endpoints{}
	})
	for name, tc := range map[string]struct {
		version *history.Version
		owned   []*history.Version
		events  []*history.Event
		want    Category
	}{
		"Autoscaler": {version(
			kind.HorizontalPodAutoscaler.Kind, condition("ScalingActive", "False", "FailedGetResourceMetric", ""),
			since(later),
		), nil, nil, ScaleMetric},
		"Off": {version(
			kind.HorizontalPodAutoscaler.Kind, condition("ScalingActive", "False", "ScalingDisabled", ""), since(later),
		), nil, nil, ScaleOff},
		"Suspended": {version(kind.CronJob.Kind, managed, func(s *observation.State) {
			s.Leaves = []observation.Leaf{{Path: "spec.suspend", Managers: 1 << 1, Shown: "true"}}
		}), nil, nil, Suspended},
		"Service": {version(kind.Service.Kind, func(s *observation.State) {
			s.Leaves = []observation.Leaf{{Path: "spec.selector.app", Shown: "web"}}
		}), []*history.Version{found(slice)}, nil, NoEndpoints},
	} {
		t.Run(name, func(t *testing.T) {
			got := Standing(found(tc.version), tc.owned, tc.events)
			if got.Category != tc.want || !got.Since.Equal(later) {
				t.Errorf("got %+v, want %s since %s", got, tc.want, later)
			}
		})
	}
}

// TestSinceOfWaits: the time of a reason is its own, or that of the present wait for the same reason.
func TestSinceOfWaits(t *testing.T) {
	at := func(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }
	wait := func(category Category, second int) Wait {
		return Wait{Reason: Reason{Category: category}, Since: at(second)}
	}
	for name, tc := range map[string]struct {
		reason string
		of     Reason
		waits  []Wait
		want   time.Time
	}{
		"Own": {"the reason has its time", Reason{Category: CrashLoop, Since: at(5)},
			[]Wait{wait(CrashLoop, 7)}, at(5)},
		"Wait": {"the wait has the time", Reason{Category: CrashLoop},
			[]Wait{wait(ImagePull, 3), wait(CrashLoop, 7)}, at(7)},
		"Other": {"the present wait is another one", Reason{Category: CrashLoop},
			[]Wait{wait(CrashLoop, 3), wait(ImagePull, 7)}, time.Time{}},
		"None": {"nothing is known", Reason{Category: CrashLoop}, nil, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Since(tc.of, nil, tc.waits); !got.Equal(tc.want) {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
