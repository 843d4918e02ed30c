// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// version returns the version of an object of that kind in its second generation, observed.
func version(k object.Kind, edit func(*observation.State)) *history.Version {
	s := &observation.State{Generation: 2, ObservedGeneration: 2, Progress: observation.ProgressInProgress}
	s.Kind, s.Group, s.UID, s.ResourceVersion = k, k.Group, "uid", 7
	edit(s)
	var r history.Record
	r.State(&observation.Observation{State: s}, history.NewShared())
	return r.Last()
}

// TestJudgements: whether an object has converged or failed.
func TestJudgements(t *testing.T) {
	counts := func(replicas, total, updated, available int32) func(*observation.State) {
		return func(s *observation.State) {
			s.Workload = &observation.Workload{
				Replicas: replicas, Total: total, Updated: updated, Ready: available, Available: available,
			}
		}
	}
	pod := func(phase string, c observation.Container, conditions ...observation.Condition) func(*observation.State) {
		return func(s *observation.State) {
			s.Pod = &observation.Pod{Node: "n", Phase: phase, Containers: []observation.Container{c}}
			s.Conditions = conditions
		}
	}
	app := observation.Container{Name: "app", Image: "web:1"}
	crashed := app
	crashed.State = &observation.ContainerState{Reason: "Error", ExitCode: 3, Finished: time.Unix(1, 0)}
	pulling := app
	pulling.State = &observation.ContainerState{Waiting: true, Reason: "ErrImagePull", Message: "not found"}
	ready := observation.Condition{Type: "Ready", Status: "True"}
	for name, tc := range map[string]struct {
		kind      object.Kind
		edit      func(*observation.State)
		converged bool
		failure   string
	}{
		"Rolled out": {kind.Deployment.Kind, counts(2, 2, 2, 2), true, ""},
		"Old Pods": {
			kind.Deployment.Kind, counts(2, 3, 2, 2), false, "",
		},
		"Not observed": {kind.Deployment.Kind, func(s *observation.State) {
			counts(2, 2, 2, 2)(s)
			s.Generation = 3
		}, false, ""},
		"Deadline exceeded": {kind.Deployment.Kind, func(s *observation.State) {
			counts(2, 2, 1, 1)(s)
			s.Conditions = []observation.Condition{
				{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded"},
			}
		}, false, "exceeded its progress deadline"},
		"Ready Pod": {kind.Pod.Kind, pod("Running", app, ready), true, ""},
		"Debugged Pod": {kind.Pod.Kind, func(s *observation.State) {
			pod("Running", app, ready)(s)
			s.ProgressMessage = "waiting for ephemeral container dbg"
		}, false, ""},
		"Job's Pod": {kind.Pod.Kind, func(s *observation.State) {
			pod("Running", app, ready)(s)
			s.Owners = []object.Owner{{Kind: kind.Job.Kind, Name: "job", UID: "j", Controller: true}}
		}, false, ""},
		"Failed Pod": {
			kind.Pod.Kind, pod("Failed", crashed), false,
			"failed: container app exited with code 3",
		},
		"Failed Pod with a sidecar": {kind.Pod.Kind, func(s *observation.State) {
			pod("Failed", crashed)(s)
			s.Pod.Init = []observation.Container{{
				Name: "proxy", Sidecar: true,
				State: &observation.ContainerState{Reason: "Error", ExitCode: 143, Finished: time.Unix(2, 0)},
			}}
		}, false, "failed: container app exited with code 3"},
		"Failed sidecar": {kind.Pod.Kind, func(s *observation.State) {
			pod("Failed", app)(s)
			s.Pod.Init = []observation.Container{{
				Name: "proxy", Sidecar: true,
				State: &observation.ContainerState{Reason: "Error", ExitCode: 143, Finished: time.Unix(2, 0)},
			}}
		}, false, "failed: container proxy exited with code 143 (SIGTERM: it was asked to stop)"},
		"Evicted Pod": {kind.Pod.Kind, func(s *observation.State) {
			pod("Failed", crashed)(s)
			s.Pod.Reason, s.Pod.Message = "Evicted", "too much storage"
		}, false, "failed: Evicted: too much storage"},
		"Missing image": {
			kind.Pod.Kind, pod("Pending", pulling), false, "",
		},
		"Custom": {object.Kind{Group: "example.com", Kind: "App"}, func(s *observation.State) {
			s.Progress, s.ProgressMessage = observation.ProgressFailed, "build failed"
		}, false, "failed: build failed"},
	} {
		t.Run(name, func(t *testing.T) {
			v := version(tc.kind, tc.edit)
			if got := Converged(v); got != tc.converged {
				t.Errorf("converged: got %t, want %t", got, tc.converged)
			}
			if got := Failure(v); got != tc.failure {
				t.Errorf("failure: got %q, want %q", got, tc.failure)
			}
		})
	}
}

// TestExitMessage: an exit code has its meaning, as far as the status shows it.
func TestExitMessage(t *testing.T) {
	ended := func(why string, code, signal int32) *observation.ContainerState {
		return &observation.ContainerState{Reason: why, ExitCode: code, Signal: signal, Finished: time.Unix(1, 0)}
	}
	for _, tc := range []struct {
		state *observation.ContainerState
		want  string
	}{
		{ended("OOMKilled", 137, 0), "container app was killed: out of memory"},
		{ended("Error", 137, 0), "container app exited with code 137 (SIGKILL: it was killed, and its status reports " +
			"no lack of memory)"},
		{ended("Error", 143, 0), "container app exited with code 143 (SIGTERM: it was asked to stop)"},
		{ended("Error", 0, 11), "container app ended by signal 11 (SIGSEGV: an invalid access to memory)"},
		{ended("Error", 127, 0), "container app exited with code 127 (its command was not found)"},
		{ended("Error", 3, 0), "container app exited with code 3"},
		{ended("Completed", 0, 0), ""},
	} {
		if got := ExitMessage("app", tc.state); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
