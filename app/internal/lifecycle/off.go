// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"fmt"
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
	// reason has no category for an ordinary wait. unfinished means that the change ended with that wait.
	reason     reason.Reason
	unfinished bool
	onset      problem.Onset
	// at is the time of the version with the reason.
	at time.Time
	// until is the time up to which the judgement holds; zero if time alone changes nothing.
	until time.Time
}

// weight orders reasons: an ordinary wait comes last.
func (o *off) weight() int {
	switch {
	case o.reason.Category != "" && slices.Contains(vague, o.reason.Category):
		return 2
	case o.reason.Category != "":
		return 2 + o.reason.Weight()
	case o.unfinished:
		return 1
	}
	return 0
}

// vague are the reasons that a more specific one of the same object explains.
var vague = []reason.Category{reason.ProgressDeadline, reason.PodFailed, reason.JobRetry, reason.ImagePull}

// judged returns the state of t, or nil if t is gone or has its desired state.
func (p *problems) judged(t *change.Timeline, now time.Time) *off {
	last := t.Last()
	if last == nil || t.Removal != nil || p.attempt(t) {
		return nil
	}
	clock := ending.NewClock(now)
	reasons := ending.NewReasons(p.known, clock)
	var r reason.Reason
	unfinished := false
	if converged(last) {
		r = standing(p.known, t)
		if r.Text == "" || r.Note && r.Category != reason.NodeCordoned || r.Category.Held() {
			return nil
		}
	} else {
		r = reasons.Of(t)
		if r.Category.Held() {
			r.Category = ""
		} else if r.Category == "" && t.Revisable != nil && last.Deleting.IsZero() {
			unfinished, r.Text = true, cmp.Or(r.Text, t.Revisable.Message)
		}
		if kind.Job.Is(last.Kind) && judge.Failure(last) != "" {
			r = p.failedJob(t, reasons, r)
		}
	}
	o := &off{
		t: t, created: last.Created, fields: last.Fields, reason: r, unfinished: unfinished,
		onset: onset(t, r), at: last.Seen, until: clock.Until(),
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

// attempt reports whether t is a failed attempt of its controller: a Pod, for which the controller makes another
// one, or a Job before a later one that is complete. Its controller stands for it.
func (p *problems) attempt(t *change.Timeline) bool {
	last := t.Last()
	if last == nil || judge.Failure(last) == "" { // as most objects
		return false
	}
	up := p.known.Above(t)
	if up == nil || up.Removal != nil || up.Last() == nil || kind.Node.Is(up.Ref.Kind) {
		return false
	}
	switch {
	case last.Pod != nil:
		return true
	case !kind.CronJob.Is(up.Ref.Kind):
		return false
	}
	return slices.ContainsFunc(p.known.Dependants(up.Ref.UID), func(other *change.Timeline) bool {
		v := other.Last()
		return v != nil && other.Removal == nil && v.Created.After(last.Created) && converged(v)
	})
}

// failedJob returns the reason of a failed Job with that of its last Pod.
func (p *problems) failedJob(t *change.Timeline, rs *ending.Reasons, r reason.Reason) reason.Reason {
	var pod *change.Timeline
	for _, dep := range p.known.Dependants(t.Ref.UID) {
		v := dep.Last()
		if v == nil || v.Pod == nil || judge.Failure(v) == "" || dep.Removal != nil {
			continue
		}
		if pod == nil || v.Created.After(pod.Last().Created) ||
			v.Created.Equal(pod.Last().Created) && dep.Ref.Name > pod.Ref.Name {
			pod = dep
		}
	}
	if pod == nil {
		if lost := rs.OfLost(t); lost != "" {
			r.Text += ": " + lost
		}
		return r
	}
	of := rs.Of(pod)
	r.Text += fmt.Sprintf(": Pod %s %s", pod.Ref.Name, of.Text)
	r.At, r.Container = pod.Ref, of.Container
	return r
}

// onset returns the time at which t, with the reason r, left its desired state: by its versions, else by its
// conditions, else by its creation.
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
			return timed("d", at)
		}
	}
	i := firstOff(t)
	v := t.Versions[i]
	switch {
	case i > 0:
		exact := v.Seen.Sub(arrivedBefore(t, i)) >= problem.Lasting
		return problem.Onset{At: v.Seen, Mark: fmt.Sprint("v", v.ResourceVersion), Exact: exact}
	case !v.Baseline && !t.Folded && !v.Created.IsZero():
		o := timed("c", v.Created)
		o.Exact = true
		return o
	}
	if at := conditionTime(v); !at.IsZero() {
		return timed("t", at)
	}
	o := timed("b", v.Created)
	o.At, o.Before = v.Seen, true
	return o
}

// crashing reports whether t is a Pod whose containers had failed before its deletion.
func crashing(t *change.Timeline) bool {
	i := firstOff(t)
	return t.Versions[i].Pod != nil && t.Versions[i].Deleting.IsZero() && troubled(t.Versions[i:])
}

// timed returns the onset at a time of the object.
func timed(mark string, at time.Time) problem.Onset {
	return problem.Onset{At: at, Mark: fmt.Sprint(mark, at.Unix())}
}

// standingOnset returns the time of the condition, or else of the newest version.
func standingOnset(t *change.Timeline, r reason.Reason) problem.Onset {
	last := t.Last()
	at := r.Since
	for _, c := range last.Conditions {
		if at.IsZero() && r.For == "its condition "+c.Type {
			at = c.Since
		}
	}
	if !at.IsZero() {
		return timed("t", at)
	}
	if i := firstCordoned(t); i > 0 || i == 0 && !last.Baseline {
		v := t.Versions[i]
		return problem.Onset{At: v.Seen, Mark: fmt.Sprint("v", v.ResourceVersion)}
	}
	o := timed("b", last.Created)
	o.At, o.Before = last.Seen, last.Baseline || t.Folded
	return o
}

// firstCordoned returns the index of the first version of the present cordon of a Node, or -1.
func firstCordoned(t *change.Timeline) int {
	i := len(t.Versions)
	for i > 0 && reason.Cordoned(t.Versions[i-1]) {
		i--
	}
	if i == len(t.Versions) {
		return -1
	}
	return i
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

// states are the conditions that show since when an object has not its desired state, the best one first.
var states = []struct{ typ, status string }{
	{"Ready", "False"},
	{"Ready", "Unknown"},
	{"Available", "False"},
	{"PodScheduled", "False"},
	{"ReplicaFailure", "True"},
	{"Failed", "True"},
	{"Synced", "False"},
	{"Healthy", "False"},
	{"Progressing", "False"},
}

// conditionTime returns the time of the condition that shows since when v has not its desired state; zero without one.
func conditionTime(v *history.Version) time.Time {
	for _, s := range states {
		if c := v.Condition(s.typ); c != nil && c.Status == s.status && !c.Since.IsZero() {
			return c.Since
		}
	}
	for _, typ := range kind.Of(v.Group, v.Kind.Kind).Goals {
		if c := v.Condition(typ); c != nil && c.Status != "True" && !c.Since.IsZero() {
			return c.Since
		}
	}
	return time.Time{}
}

// lasting returns the time of desired state after which the problem of o has ended.
func (o *off) lasting() time.Duration {
	if o.reason.Category == reason.CrashLoop || o.reason.Category == reason.OutOfMemory ||
		o.reason.Category == reason.LivenessProbe || o.reason.Category == reason.StartupProbe {
		return problem.Lasting + judge.Steady
	}
	return problem.Lasting
}

// root returns the UID of the highest controller of t, or of t.
func (p *problems) root(t *change.Timeline) types.UID {
	uid := t.Ref.UID
	for range maxAbove {
		o := p.known.Controller(t)
		if o == nil || kind.Node.Is(o.Kind) || o.UID == uid {
			return uid
		}
		uid = o.UID
		up := p.known.Object(uid)
		if up == nil {
			return uid
		}
		t = up
	}
	return uid
}

// named reports whether r is complete: a relation may be named by its kind and name only.
func named(r object.Ref) bool { return r.Name != "" }
