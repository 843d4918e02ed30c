// SPDX-License-Identifier: Apache-2.0

// Package health judges objects of kinds without built-in rules: custom resources. A verdict comes
// from the first of these sources that has one:
//
//  1. the vetoes: a wished pause or stop, and a change that the controller has not observed;
//  2. the rules of the configuration, in CEL;
//  3. the health checks of Argo CD's community, in Lua, for about 240 kinds;
//  4. the names of conditions and states;
//  5. kstatus.
//
// The same object always gets the same verdict, except for one that shows nothing: its verdict
// depends on what other objects of the kind have shown. There is no I/O and no clock.
package health

import (
	"sync/atomic"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Verdict is the state of one object.
type Verdict struct {
	Progress observation.Progress
	// By is the source of the verdict.
	By observation.Judge
	// Message is the text of the object for the verdict, unbounded and unchecked: it may quote a
	// confidential value. With Ours it is a text of this package or of a check, without any value.
	Message string
	Ours    bool
	// Reason is the reason of the deciding condition, or the state: unchecked, too.
	Reason string
	// Held means that the object is paused or stopped. With the progress Current that is its desired
	// state, otherwise it waits for the end of the pause.
	Held bool
}

// Judge judges objects. It is safe for concurrent use.
type Judge struct {
	rules   atomic.Pointer[Rules]
	signals *Signals
}

// NewJudge returns a judge. rules may be nil, signals may not.
func NewJudge(rules *Rules, signals *Signals) *Judge {
	j := &Judge{signals: signals}
	j.SetRules(rules)
	return j
}

// SetRules replaces the rules of the configuration; nil means none.
func (j *Judge) SetRules(rules *Rules) { j.rules.Store(rules) }

// Declares reports whether the configuration has a rule for the kind.
func (j *Judge) Declares(kind schema.GroupKind) bool {
	rules := j.rules.Load()
	return rules != nil && rules.of[kind] != nil
}

// Of judges an object as the API serves it. It only reads obj. The status must have been reduced by
// [Reduced].
func (j *Judge) Of(obj map[string]any) Verdict {
	s := read(obj)
	if v, ok := veto(s); ok {
		return v
	}
	named := byNames(s)
	if named.shown {
		j.signals.Add(s.kind)
	}
	if v, ok := j.rules.Load().verdict(s); ok {
		return v
	}
	if v, ok := check(s, named); ok {
		return v
	}
	if named.shown {
		return named.Verdict
	}
	if j.signals.of(s.kind).shown || s.once {
		return Verdict{Progress: observation.ProgressInProgress, By: observation.JudgedByNames}
	}
	v := byKstatus(s)
	if v.By == observation.JudgedByNothing && j.signals.quiet(s.kind, created(s.meta)) && len(s.status) == 0 {
		v.By = observation.JudgedByNothingYet
	}
	return v
}

// byKstatus returns the verdict of kstatus. It has no wall clock for kinds other than Pods.
func byKstatus(s *subject) Verdict {
	v := Verdict{Progress: observation.ProgressCurrent, By: observation.JudgedByNothing}
	if s.observed >= 0 {
		v.By = observation.JudgedByKstatus
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: s.obj})
	if err != nil {
		return v // malformed fields show nothing
	}
	switch result.Status {
	case status.InProgressStatus:
		v.Progress = observation.ProgressInProgress
	case status.FailedStatus:
		v.Progress = observation.ProgressFailed
	case status.CurrentStatus, status.TerminatingStatus, status.NotFoundStatus, status.UnknownStatus:
		return v
	}
	v.By, v.Message = observation.JudgedByKstatus, result.Message
	if len(result.Conditions) > 0 {
		v.Reason = result.Conditions[0].Reason
	}
	return v
}

// subject is the part of an object that the sources read.
type subject struct {
	obj                fields
	kind               schema.GroupKind
	meta, spec, status fields
	conditions         []condition
	states             []state
	generation         int64
	// observed is the generation that the controller has observed; -1 if the status has none.
	observed int64
	// once is true for a kind whose objects run to their end, such as a Job.
	once bool
}

func read(obj fields) *subject {
	s := &subject{
		obj: obj, meta: sub(obj, "metadata"), spec: sub(obj, "spec"), status: sub(obj, "status"),
	}
	s.kind = schema.FromAPIVersionAndKind(raw(obj, "apiVersion"), raw(obj, "kind")).GroupKind()
	s.generation, s.observed = number(s.meta, "generation", 0), Observed(s.status)
	s.once = runsOnce(s.kind.Kind)
	s.conditions = s.readConditions()
	s.states = readStates(s.status)
	return s
}
