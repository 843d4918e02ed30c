// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// Reasons are the reasons of objects without their desired state, by their newest versions.
type Reasons struct {
	known index.View
	clock *Clock
	// memo has the reasons so far.
	memo map[*change.Timeline]reason.Reason
}

// NewReasons returns Reasons at the time of the clock.
func NewReasons(known index.View, c *Clock) *Reasons {
	return &Reasons{known: known, clock: c, memo: map[*change.Timeline]reason.Reason{}}
}

// Of returns the reason why the object of t, by its newest version, does not have its desired
// state. It is empty for an object without a version.
func (rs *Reasons) Of(t *change.Timeline) reason.Reason {
	last := t.Last()
	if last == nil {
		return reason.Reason{}
	}
	r, known := rs.memo[t]
	if !known {
		r = reason.Of(last, rs.EventsOf(t))
		if r.Category == "" {
			r = rs.byPods(t, reason.Lasting(last, r))
		}
		if of := reason.Silent(last, rs.known); of.Text != "" && rs.clock.Passed(last.Created, silence) {
			r = of
		}
		switch r.Category {
		case reason.Invalid:
			r = rs.byDefaults(t, r)
		case reason.VolumeNotBound:
			r = rs.byClaims(last, r)
		case reason.UnschedulableAffinity, reason.UnschedulablePort:
			r = rs.byRollout(t, r)
		case reason.Finalizer:
			r = rs.byUsers(last, r)
		case reason.Dependants:
			r = rs.byDependants(t, r)
		case "":
			r = rs.byAttachments(t, r)
		case reason.Preempted:
			r.Text = rs.withName(r.Text) // the scheduler reports the UID of the other Pod
		}
		if last.Pod != nil {
			r = rs.byNode(last, r)
			if up := rs.known.Above(t); up != nil {
				r = reason.Rewritten(last, up.Last(), r, func() []string { return rs.mutators(t) })
			}
		}
		rs.memo[t] = r
	}
	return r
}

// byPods returns the reason of the object of t by one of its Pods, or else r.
func (rs *Reasons) byPods(t *change.Timeline, r reason.Reason) reason.Reason {
	last := t.Last()
	if !reason.WaitsForPods(last) || !last.Deleting.IsZero() {
		return r
	}
	var pods []*change.Timeline
	for _, dep := range rs.known.Dependants(t.Ref.UID) {
		if v := dep.Last(); v != nil && v.Pod != nil && dep.Removal == nil {
			pods = append(pods, dep)
		}
	}
	if kind.Job.Is(last.Kind) && len(pods) > 0 {
		pods = []*change.Timeline{slices.MaxFunc(pods, byAge)} // the last attempt
	}
	var owned []reason.Owned
	for _, pod := range pods {
		if v := pod.Last(); !judge.Converged(v) {
			owned = append(owned, reason.Owned{Version: v, Reason: rs.Of(pod)})
		}
	}
	of := reason.Behind(last, owned)
	switch pod := rs.known.Object(of.At.UID); {
	case of.Text == "":
		return r
	case pod != nil:
		of.Since = rs.reasonSince(pod).Since
	}
	return of
}

// maxMutators bounds the names of those that may have changed a Pod. More of them explain nothing.
const maxMutators = 3

// mutators returns the names of the policies and the configurations of webhooks that may have changed the new Pod of t;
// none if there are too many. The audit log shows which webhooks changed an object; nothing shows which policies did.
func (rs *Reasons) mutators(t *change.Timeline) []string {
	var out []string
	made := creation(t)
	if made != nil {
		for _, name := range made.Mutators {
			out = append(out, kind.MutatingWebhooks+" "+name)
		}
	}
	for _, by := range rs.known.Referrers(kind.NewPods) {
		switch last := by.Last(); {
		case last == nil, by.Removal != nil, last.Created.After(t.Last().Created):
			continue
		case made != nil && by.Ref.Kind.Kind == kind.MutatingWebhooks:
			continue
		case by.Ref.Kind.Kind == kind.MutatingPolicy && len(rs.known.Referrers(object.NameOf(&by.Ref))) == 0:
			continue // without a binding it does nothing
		}
		out = append(out, by.Ref.Kind.Kind+" "+by.Ref.Name)
	}
	if len(out) > maxMutators {
		return nil
	}
	slices.Sort(out)
	return out
}

// creation returns the request that created the object of t, by an authenticated audit log; nil without one.
func creation(t *change.Timeline) *observation.Write {
	if t.Audits == nil {
		return nil
	}
	for _, w := range t.Audits.List {
		if w.Verb == "create" && w.Subresource == "" && !w.Failed() && !w.Unauthenticated {
			return w
		}
	}
	return nil
}

// byDefaults returns the reason of the object of t, whose Pods are refused, by the LimitRanges of its Namespace.
func (rs *Reasons) byDefaults(t *change.Timeline, r reason.Reason) reason.Reason {
	var owner *history.Version
	if up := rs.known.Above(t); up != nil {
		owner = up.Last()
	}
	var ranges []*history.Version
	for _, of := range rs.known.Named(change.LimitRanges(t.Ref.Namespace)) {
		if v := of.Last(); v != nil && of.Removal == nil {
			ranges = append(ranges, v)
		}
	}
	by := reason.ByDefaults(t.Last(), owner, ranges, r)
	if by.Category != r.Category {
		by.Since = reason.Since(r, t.Last(), reason.Waits(t.Versions, rs.EventsOf(t)))
	}
	return by
}

// LastFailed returns the last failed Pod of a Job; nil if none is there.
func (rs *Reasons) LastFailed(t *change.Timeline) *change.Timeline {
	var last *change.Timeline
	for _, dep := range rs.known.Dependants(t.Ref.UID) {
		v := dep.Last()
		if v != nil && v.Pod != nil && judge.Failure(v) != "" && dep.Removal == nil &&
			(last == nil || byAge(dep, last) > 0) {
			last = dep
		}
	}
	return last
}

// OfFailed returns the reason of a failed Job with that of its last failed Pod.
func (rs *Reasons) OfFailed(t *change.Timeline) reason.Reason {
	r := rs.Of(t)
	pod := rs.LastFailed(t)
	if pod == nil {
		if lost := rs.OfLost(t); lost != "" {
			r.Text += ": " + lost
		}
		return r
	}
	of := rs.Of(pod)
	r.Text += ": " + pod.Ref.Kind.Kind + " " + pod.Ref.Name + " " + of.Text
	r.At, r.Container = pod.Ref, of.Container
	return r
}

// OfRuns returns the reason of a CronJob whose last finished Job has failed; it is empty for any other one. Since is
// the time of the first known failure after the last success.
func (rs *Reasons) OfRuns(t *change.Timeline) reason.Reason {
	var jobs []*change.Timeline
	for _, dep := range rs.known.Dependants(t.Ref.UID) {
		if v := dep.Last(); v != nil && dep.Removal == nil && kind.Job.Is(v.Kind) &&
			(judge.Converged(v) || judge.Failure(v) != "") {
			jobs = append(jobs, dep)
		}
	}
	slices.SortFunc(jobs, byAge)
	var out reason.Reason
	for _, job := range slices.Backward(jobs) {
		v := job.Last()
		if judge.Converged(v) {
			break
		}
		if out.Text == "" {
			out = rs.OfFailed(job)
			out.Text = "failed in its last run: Job " + job.Ref.Name + " " + out.Text
			out.For = "a complete run"
			if out.At.Name == "" {
				out.At = job.Ref
			}
		}
		if c := v.Condition("Failed"); c != nil {
			out.Since = c.Since
		}
	}
	return out
}

// OfLost says how a container of the last Pod of a failed Job ended before the Job's controller removed the
// Pod; "" if nothing shows that.
func (rs *Reasons) OfLost(t *change.Timeline) string {
	if last := t.Last(); last == nil || !kind.Job.Is(last.Kind) {
		return ""
	}
	var pods []*change.Timeline
	for _, dep := range rs.known.Dependants(t.Ref.UID) {
		if v := dep.Last(); v != nil && v.Pod != nil && (dep.Removal != nil || !v.Deleting.IsZero()) {
			pods = append(pods, dep)
		}
	}
	slices.SortFunc(pods, byAge)
	for _, pod := range slices.Backward(pods) {
		for _, v := range slices.Backward(pod.Versions) {
			if exit := reason.Exit(v); exit != "" && v.Deleting.IsZero() {
				return "Pod " + pod.Ref.Name + ": " + exit
			}
		}
	}
	return ""
}

// byAge orders objects by their creation, and by name within a second.
func byAge(a, b *change.Timeline) int {
	return cmp.Or(a.Last().Created.Compare(b.Last().Created), strings.Compare(a.Ref.Name, b.Ref.Name))
}

// podByUID is a Pod in a message of the scheduler.
var podByUID = regexp.MustCompile(`\bpod (\S+)`)

// withName returns the text with the name of a Pod instead of its UID, if the Pod is known.
func (rs *Reasons) withName(text string) string {
	return podByUID.ReplaceAllStringFunc(text, func(pod string) string {
		uid := types.UID(strings.TrimPrefix(pod, "pod "))
		if name := rs.known.PodName(uid); name != "" {
			return "Pod " + name
		}
		return pod
	})
}

// byClaims returns the reason of a Pod by the first of its claims that is not bound and has a reason, or else r.
func (rs *Reasons) byClaims(pod *history.Version, r reason.Reason) reason.Reason {
	for _, relation := range pod.Relations {
		if relation.Type != object.Claim {
			continue
		}
		for _, claim := range rs.known.Named(relation.To) {
			v := claim.Last()
			if v == nil || claim.Removal != nil || judge.Converged(v) {
				continue
			}
			if of := reason.Unbound(r, reason.Owned{Version: v, Reason: rs.reasonSince(claim)}); of.Cause != "" {
				return of
			}
		}
	}
	return r
}

// byAttachments returns the reason of a Pod by the first attachment that its volumes wait for, or else r.
func (rs *Reasons) byAttachments(pod *change.Timeline, r reason.Reason) reason.Reason {
	last := pod.Last()
	if last.Pod == nil || !last.Deleting.IsZero() || judge.Converged(last) || reason.Created(last) {
		return r
	}
	for _, t := range rs.known.Attachments(pod) {
		if v := t.Last(); t.Removal == nil && !judge.Converged(v) {
			return reason.Attaching(reason.Owned{Version: v, Reason: rs.reasonSince(t)})
		}
	}
	return r
}

// OfPod reports whether the object of t is an attachment that a Pod waits for. The Pod has its reason.
func (rs *Reasons) OfPod(t *change.Timeline) bool {
	waits := func(pod *change.Timeline) bool { return pod.Removal == nil && !judge.Converged(pod.Last()) }
	return kind.VolumeAttachment.Is(t.Ref.Kind) && slices.ContainsFunc(rs.known.Attached(t), waits)
}

// reasonSince is Of with the time when the object got its reason, if that is known.
func (rs *Reasons) reasonSince(t *change.Timeline) reason.Reason {
	r := rs.Of(t)
	r.Since = reason.Since(r, t.Last(), reason.Waits(t.Versions, rs.EventsOf(t)))
	return r
}

// overdue is the time for which a Pod may be there after its grace period: the kubelet takes a moment.
const overdue = 10 * time.Second

// byNode returns the reason of a Pod by its Node, or that its grace period is over, or else r.
func (rs *Reasons) byNode(v *history.Version, r reason.Reason) reason.Reason {
	if node := rs.known.Node(v.Pod.Node); node != nil {
		if of := reason.OnNode(v, node); of.Category == reason.NodeLost || of.Text != "" && r.Category == "" {
			return of
		}
	}
	if r.Category == "" && !v.Deleting.IsZero() && rs.clock.Passed(v.Deleting, overdue) {
		return reason.Overdue(v)
	}
	return r
}

// EventsOf returns the Events about the object of t. It leaves out those about a refused dependant
// before the last creation of one.
func (rs *Reasons) EventsOf(t *change.Timeline) []*history.Event {
	refused := func(e *history.Event) bool { return e.Reason == change.FailedCreate }
	if !t.Kind().Owner || !slices.ContainsFunc(t.Events, refused) {
		return t.Events
	}
	created := rs.lastCreation(t)
	return slices.DeleteFunc(slices.Clone(t.Events), func(e *history.Event) bool {
		return refused(e) && e.ResourceVersion < created
	})
}

// lastCreation returns the resourceVersion of the last creation of a dependant of t, or 0.
func (rs *Reasons) lastCreation(t *change.Timeline) uint64 {
	last := uint64(0)
	for _, dep := range rs.known.Dependants(t.Ref.UID) {
		if len(dep.Versions) > 0 {
			last = max(last, dep.Versions[0].ResourceVersion)
		}
	}
	return last
}
