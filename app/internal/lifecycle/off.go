// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/ending"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// off is an object without its desired state.
type off struct {
	t *change.Timeline
	// above is the UID of its controller, or "".
	above                      types.UID
	created, controllerCreated time.Time
	// pod means that it is a Pod, and node is the name of its Node.
	pod    bool
	node   string
	fields *history.Fields
	// reason has no category for an ordinary wait. unfinished means that the change ended with that wait, and early
	// that the reason has not lasted long enough to count.
	reason            reason.Reason
	unfinished, early bool
	onset             problem.Onset
	// at is the time of the version with the reason.
	at time.Time
	// until is the time up to which the judgement holds; zero if time alone changes nothing.
	until time.Time
}

// weight orders reasons: an ordinary wait comes last.
func (o *off) weight() int {
	switch {
	case o.early:
		return 0
	case o.reason.Category != "" && slices.Contains(vague, o.reason.Category):
		return 2
	case o.reason.Category != "":
		return 2 + o.reason.Weight()
	case o.unfinished:
		return 1
	}
	return 0
}

// normal are the reasons of objects that stand at a limit as their authors declared it.
var normal = []reason.Category{reason.DisruptionBudget, reason.ScaleLimited, reason.VolumeReleased}

// fails reports whether the reason r of an object in its desired state is a problem.
func fails(r reason.Reason) bool {
	return r.Text != "" && (!r.Note || r.Category == reason.NodeCordoned) && !r.Category.Held() &&
		!slices.Contains(normal, r.Category)
}

// vague are the reasons that a more specific one of the same object explains.
var vague = []reason.Category{reason.ProgressDeadline, reason.PodFailed, reason.JobRetry, reason.ImagePull}

// initially are the reasons that objects have for a moment after their creation, too. They count after problem.Lasting.
var initially = []reason.Category{
	reason.NoEndpoints, reason.EndpointsUnready, reason.PortMissing, reason.ScaleMetric, reason.ScaleTarget,
}

// judged returns the state of t, or nil if t is gone or has its desired state.
func (p *problems) judged(t *change.Timeline, now time.Time) *off {
	last := t.Last()
	clock := ending.NewClock(now)
	reasons := ending.NewReasons(p.known, clock)
	if last == nil || t.Removal != nil || p.attempt(t) || reasons.OfPod(t) {
		p.spaces.follow(t, reason.Reason{})
		return nil
	}
	var r reason.Reason
	unfinished := false
	if converged(last) {
		r = p.spaces.follow(t, standing(p.known, t, reasons))
		if !fails(r) || r.Category == reason.NoEndpoints && p.spaces.idle(t) {
			return nil
		}
	} else {
		p.spaces.follow(t, reason.Reason{})
		r = reasons.Of(t)
		if r.Category.Held() {
			r.Category = ""
		} else if r.Category == "" && last.Deleting.IsZero() && !p.works(t) {
			switch {
			case t.Revisable != nil:
				unfinished, r.Text = true, cmp.Or(r.Text, t.Revisable.Message)
			case degraded(t):
				unfinished = clock.Passed(onset(t, r).At, stalled)
			}
		}
		if kind.Job.Is(last.Kind) && judge.Failure(last) != "" {
			r = reasons.OfFailed(t)
		}
	}
	since := onset(t, r)
	early := slices.Contains(initially, r.Category) && !clock.Passed(since.At, problem.Lasting)
	o := &off{
		t: t, created: last.Created, fields: last.Fields, reason: r, unfinished: unfinished,
		early: early, onset: since, at: last.Seen, until: clock.Until(),
	}
	if last.Pod != nil {
		o.pod, o.node = true, last.Pod.Node
	}
	if up := p.known.Controller(t); up != nil && !kind.Node.Is(up.Kind) && up.UID != t.Ref.UID {
		o.above = up.UID
		if of := p.known.Object(up.UID); of != nil && of.Last() != nil {
			o.controllerCreated = of.Last().Created
		}
	}
	return o
}

// converged reports whether v has its desired state.
func converged(v *history.Version) bool { return judge.Converged(v) }

// stalled is the time after which an ordinary wait without a change is a problem: that of a Deployment's default
// progress deadline.
const stalled = 10 * time.Minute

// works reports whether t is one run of a work, or a Pod of a Job. It may take hours.
func (p *problems) works(t *change.Timeline) bool {
	up := p.known.Controller(t)
	return up != nil && kind.Job.Is(up.Kind) || slices.ContainsFunc(
		[]*kind.Kind{&kind.Job, &kind.PipelineRun, &kind.TaskRun}, func(k *kind.Kind) bool { return k.Is(t.Ref.Kind) },
	)
}

// degraded reports whether a Pod or a workload left its desired state without a change of its own, or before the first
// observation.
func degraded(t *change.Timeline) bool {
	last := t.Last()
	if last.Pod == nil && last.Workload == nil {
		return false
	}
	i := firstOff(t)
	if i == 0 {
		return t.Versions[0].Baseline || t.Folded
	}
	return t.Versions[i-1].Generation == last.Generation
}

// attempt reports whether t is a failed attempt of its controller: a Pod, for which the controller makes another
// one, or a Job of a CronJob. Its controller stands for it.
func (p *problems) attempt(t *change.Timeline) bool {
	last := t.Last()
	if last == nil || judge.Failure(last) == "" { // as most objects
		return false
	}
	up := p.known.Above(t)
	if up == nil || up.Removal != nil || up.Last() == nil || kind.Node.Is(up.Ref.Kind) {
		return false
	}
	return last.Pod != nil || kind.CronJob.Is(up.Ref.Kind)
}

// onset returns the time at which t, with the reason r, left its desired state: by its versions, or else by what the
// oldest one shows.
func onset(t *change.Timeline, r reason.Reason) problem.Onset {
	if converged(t.Last()) { // its relatives or its conditions give the reason
		return standingOnset(t, r)
	}
	if r.Category == reason.TerminationOverdue || !t.Last().Deleting.IsZero() {
		last := t.Last()
		at := last.Deleting.Add(-time.Duration(last.GraceSeconds) * time.Second)
		if r.Category == reason.TerminationOverdue {
			at = last.Deleting
		}
		if !crashing(t) {
			return problem.Onset{At: at}
		}
	}
	i := firstOff(t)
	v := t.Versions[i]
	switch {
	case i > 0:
		exact := v.Seen.Sub(arrivedBefore(t, i)) >= problem.Lasting
		return problem.Onset{At: v.Seen, Exact: exact, Version: v.ResourceVersion}
	case !v.Baseline && !t.Folded && !v.Created.IsZero():
		return problem.Onset{At: v.Created, Exact: true}
	}
	if past := t.Past; past != nil && past.Arrived == 0 && past.Began > 0 { // its versions are forgotten
		return problem.Onset{At: history.Later(time.Unix(past.Began, 0), v.Created)}
	}
	if at := foundOff(v, r); !at.IsZero() {
		return problem.Onset{At: at, Found: true}
	}
	return problem.Onset{At: v.Seen, Before: true}
}

// crashing reports whether t is a Pod whose containers had failed before its deletion.
func crashing(t *change.Timeline) bool {
	i := firstOff(t)
	return t.Versions[i].Pod != nil && t.Versions[i].Deleting.IsZero() && troubled(t.Versions[i:])
}

// standingOnset returns the time of the reason, or else of the newest version.
func standingOnset(t *change.Timeline, r reason.Reason) problem.Onset {
	last := t.Last()
	if at := reason.Found(r, last); !at.IsZero() {
		return problem.Onset{At: at}
	}
	return problem.Onset{At: last.Seen, Before: last.Baseline || t.Folded, Version: last.ResourceVersion}
}

// firstOff returns the index of the first version without the desired state. A short time with it, after a reason,
// does not count.
func firstOff(t *change.Timeline) int {
	vs := t.Versions
	first := len(vs) - 1
	for i := first - 1; i >= 0; i-- {
		if !converged(vs[i]) {
			first = i
			continue
		}
		from := i
		for from > 0 && converged(vs[from-1]) {
			from--
		}
		before := from
		for before > 0 && !converged(vs[before-1]) {
			before--
		}
		if vs[first].Seen.Sub(vs[from].Seen) >= problem.Lasting || !troubled(vs[before:from]) {
			return first
		}
		i = from
	}
	return first
}

// arrivedBefore returns the time from which t had its desired state before the version at i.
func arrivedBefore(t *change.Timeline, i int) time.Time {
	for i > 1 && converged(t.Versions[i-2]) {
		i--
	}
	return t.Versions[i-1].Seen
}

// troubled reports whether one of the versions has a reason.
func troubled(vs []*history.Version) bool {
	return slices.ContainsFunc(vs, func(v *history.Version) bool {
		r := reason.Of(v, nil)
		return r.Category != "" && !r.Category.Held()
	})
}

// declared are the conditions by which a controller declares a trouble.
var declared = []struct{ typ, status string }{
	{"ReplicaFailure", "True"}, {"Failed", "True"}, {"Progressing", "False"},
}

// foundOff returns the earliest time from which v, the oldest version, has not its desired state, or shows the reason
// r; zero if it shows none. A rollout lacks it at most since the write of the Pod template.
func foundOff(v *history.Version, r reason.Reason) time.Time {
	shown := []time.Time{reason.Found(r, v), reason.Found(reason.Reason{}, v)}
	for _, s := range declared {
		if c := v.Condition(s.typ); c != nil && c.Status == s.status {
			shown = append(shown, c.Since)
		}
	}
	var at time.Time
	for _, one := range shown {
		if at.IsZero() || !one.IsZero() && one.Before(at) {
			at = one
		}
	}
	if v.Workload != nil && (at.IsZero() || r.Category == reason.ProgressDeadline) {
		at = cmp.Or(reason.Written(v, "spec.template"), at)
	}
	return at
}

// lasting returns the time of desired state after which the problem of o has ended.
func (o *off) lasting() time.Duration {
	if o.reason.Category == reason.CrashLoop || o.reason.Category == reason.OutOfMemory ||
		o.reason.Category == reason.LivenessProbe || o.reason.Category == reason.StartupProbe {
		return problem.Lasting + judge.Steady
	}
	return problem.Lasting
}

// named reports whether r is complete: a relation may be named by its kind and name only.
func named(r object.Ref) bool { return r.Name != "" }
