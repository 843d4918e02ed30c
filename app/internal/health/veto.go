// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// veto returns the verdict that no other source may overrule. A paused controller observes nothing, so
// a wished pause comes before the observed generation. A wished stop has to be reached.
func veto(s *subject) (Verdict, bool) {
	v := Verdict{Progress: observation.ProgressInProgress, By: observation.JudgedByNames, Ours: true}
	queued := raw(sub(s.meta, "labels"), kind.QueueLabel) != ""
	switch {
	case pauses(s) && queued:
		v.Message = "waiting for its admission by Kueue"
	case pauses(s):
		v.Progress, v.Held, v.Message = observation.ProgressCurrent, true, "it is paused, as wished"
	case s.observed >= 0 && s.observed < s.generation:
	case stops(s) && stopped(s):
		v.Progress, v.Held, v.Message = observation.ProgressCurrent, true, "it is stopped, as wished"
	case stops(s):
		v.Message = "waiting for its stop"
	default:
		return Verdict{}, false
	}
	return v, true
}

// pauseFields and pauseAnnotations are the fields of a spec and the names of annotations, without their
// domain, that pause the work of a controller.
var (
	pauseFields      = []string{"paused", "suspend", "suspended"}
	pauseAnnotations = []string{
		"paused", "pause-reconciliation", "paused-replicas", "skip-reconcile", "reconcile-paused", "suspended",
	}
)

// pauses reports whether the desired state includes a pause.
func pauses(s *subject) bool {
	if slices.ContainsFunc(pauseFields, func(f string) bool { return truth(s.spec, f) }) {
		return true
	}
	for key, value := range sub(s.meta, "annotations") {
		domain, name, _ := strings.Cut(key, "/")
		if name != "" && slices.Contains(pauseAnnotations, name) && value != "false" ||
			domain == "cnpg.io" && name == "reconciliationLoop" && value == "disabled" {
			return true
		}
	}
	return false
}

// stops reports whether the desired state is that nothing runs.
func stops(s *subject) bool {
	running, set := s.spec["running"].(bool)
	return raw(s.spec, "runStrategy") == "Halted" || set && !running ||
		wordOf(raw(s.spec, "state")) == wordStopped || wordOf(raw(s.spec, "desiredState")) == wordStopped ||
		raw(sub(s.meta, "annotations"), "cnpg.io/hibernation") == "on"
}

// stopped reports whether the status of an object that should not run shows that it does not.
func stopped(s *subject) bool {
	for _, st := range s.states {
		switch st.word {
		case wordStopped:
			return true
		case wordGood, wordOngoing:
			return false
		case wordNone, wordTrouble, wordFailed:
		}
	}
	for i := range s.conditions {
		switch c := &s.conditions[i]; c.kind {
		case typeGoal:
			if c.status == "True" {
				return false
			}
		case typeHeld:
			return c.status == "True"
		case typeNone, typePart, typeFinal, typeTrouble, typeOngoing:
		}
	}
	return len(s.status) > 0
}
