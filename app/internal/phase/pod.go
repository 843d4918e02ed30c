// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// podStory is the course of a Pod in one reconciliation.
type podStory struct {
	from     Sources
	r        *change.Reconciliation
	versions []*history.Version
	events   []*history.Event
	// ready is the version in which the reconciliation had converged; nil until then.
	ready *history.Version
}

// podPhases returns the steps from creation to Ready. endPhases returns those of a deletion.
func (s *Steps) podPhases(r *change.Reconciliation) []Step {
	story := &podStory{from: s.from, r: r, events: r.Timeline.Events}
	until := ^uint64(0)
	if r.Superseded != nil {
		until = r.Superseded.RV
	}
	if v := r.ConvergedBy(until); v != nil {
		story.ready, until = v, v.ResourceVersion
	}
	story.versions = make([]*history.Version, 0, len(r.Timeline.Versions))
	for _, v := range r.Timeline.Versions {
		if v.ResourceVersion >= r.First().RV && v.ResourceVersion <= until && v.Pod != nil {
			story.versions = append(story.versions, v)
		}
	}
	if len(story.versions) == 0 {
		return nil
	}
	s.pod = story.steps(s.pod[:0])
	return s.pod
}

// steps appends the steps to out.
func (s *podStory) steps(out []Step) []Step {
	out, bound := s.schedule(out)
	if !bound.Known() {
		return out
	}
	latest := s.latest()
	var tracks []*track
	again := false
	for i := range latest.Init {
		tracks = append(tracks, s.follow(latest.Init[i], true))
	}
	for i := range latest.Containers {
		if !s.r.First().Arrived.IsZero() && latest.Containers[i].Restarts > 0 {
			again = true // its first start is unknown by now
			continue
		}
		tracks = append(tracks, s.follow(latest.Containers[i], false))
	}
	out, ready := s.attach(out, bound)
	sandbox := s.sandbox(ready, tracks)
	out = append(out, sandbox)
	for i, t := range tracks {
		out = t.phases(out, earliest(tracks[:i], sandbox.end, t.firstStart()))
	}
	if p, begun := s.readiness(tracks); begun && !again {
		out = append(out, p)
	}
	for i := range out {
		s.cut(&out[i])
	}
	return s.published(out)
}

// earliest returns the earliest time for the first start of a container, at next: the end of sandbox, or
// of the last init container before it.
func earliest(before []*track, sandbox, next history.Moment) history.Moment {
	from := sandbox
	for _, t := range before {
		if !t.init {
			break
		}
		if end := t.over(next); end.Known() {
			from = end
		}
	}
	return from
}

// published appends the steps from Ready to the publications of the Pod as an endpoint. The
// reconciliation does not wait for them.
func (s *podStory) published(out []Step) []Step {
	if s.ready == nil || s.ready.Baseline || !s.r.First().Arrived.IsZero() || s.completes() {
		return out
	}
	return Published(out, Ready(s.from.Times, s.r.Timeline, s.ready), s.ready.ResourceVersion,
		s.from.Published(s.r.Timeline))
}

// cut ends an open phase at the end of the reconciliation.
func (s *podStory) cut(p *Step) {
	if !s.r.Done {
		return
	}
	if !p.end.Known() {
		p.end = s.r.Ended.At
	}
	if s.r.First().Arrived.IsZero() {
		return
	}
	// The Pod was found after its convergence, so some times are unknown.
	for _, m := range []*history.Moment{&p.start, &p.end} {
		if m.At().After(s.r.Ended.At.At().Time) {
			*m = s.r.Ended.At
		}
	}
}

// completes reports whether the Pod is a Job's. Such a Pod exists until its containers exit.
func (s *podStory) completes() bool {
	o := s.from.Controller(s.r.Timeline)
	return o != nil && kind.Job.Is(o.Kind)
}

func (s *podStory) latest() *history.PodState { return s.versions[len(s.versions)-1].Pod }

// schedule appends the step from created to bound, and returns the time of the binding. A Pod
// created bound has no such step.
func (s *podStory) schedule(out []Step) ([]Step, history.Moment) {
	first := s.versions[0]
	made := s.from.Times.Start(s.r)
	if first.Pod.Node != "" && s.r.First().Verb == history.Created && !first.Baseline && !first.Listed {
		return out, made
	}
	p := Step{name: span.NameSchedule, service: change.Scheduler, start: made}
	if name := first.Pod.Scheduler; name != "" && name != object.DefaultScheduler {
		p.service = span.Bound(name)
	}
	for i := range s.versions {
		v := s.versions[i]
		c := v.Condition(judge.PodScheduled)
		if v.Pod.Node != "" {
			p.end = s.bound(i)
			p.attrs = append(p.attrs, span.KeyNode.String(v.Pod.Node))
			break
		}
		if c != nil && c.Status == "False" &&
			(i == 0 || !history.Equal(s.versions[i-1].Condition(judge.PodScheduled), c)) {
			p.message = c.Message
			p.events = append(
				p.events,
				span.Event{
					Time: history.Arrival(v).At().Time,
					Name: span.EventUnschedulable,
					Attributes: []attribute.KeyValue{
						span.KeyReason.String(span.Bound(c.Reason)), span.KeyMessage.String(span.Bound(c.Message)),
					},
				},
			)
		}
	}
	if p.end.Known() {
		p.message = ""
	} else if p.message != "" {
		p.failed = s.latest().Node == "" && p.message != "" && s.unschedulable()
	}
	return append(out, p), p.end
}

// bound returns the time of the storage of the i-th version, the first with a Node. Its source is
// the audit log, or else the time that admission noted on the Pod if it is possible, or else the
// condition.
func (s *podStory) bound(i int) history.Moment {
	v := s.versions[i]
	m := s.from.Times.Stored(s.r.Timeline, v)
	if m.Exact != "" {
		return m
	}
	if c := v.Condition(judge.PodScheduled); c != nil && c.Status == "True" {
		m = m.Within(c.Since)
	}
	at, made := time.Unix(0, v.Pod.Scheduled).UTC(), s.from.Times.Start(s.r)
	switch {
	case v.Pod.Scheduled == 0, i > 0 && s.versions[i-1].Pod.Scheduled != 0:
		return m // the note is from before the binding
	case at.After(v.Seen.Add(audit.Skew)),
		at.Before(made.At().Time.Add(-audit.Skew)),
		m.Live && m.Hi.Sub(at) > unlikely:
		return m
	}
	return history.Moment{Lo: at, Hi: at, Exact: span.TimeAdmission}
}

// unlikely is the maximum delay between the admission of a binding and its live observation. With a
// longer one, the noted admission time is not used.
const unlikely = 30 * time.Second

func (s *podStory) unschedulable() bool {
	c := s.versions[len(s.versions)-1].Condition(judge.PodScheduled)
	return c != nil && c.Reason == judge.ReasonUnscheduled
}

// sandbox returns the step from bound to a sandbox ready for containers, volumes and network
// included. Its condition often arrives late, with the next status. An image pull or a container is
// an earlier proof.
func (s *podStory) sandbox(bound history.Moment, tracks []*track) Step {
	p := Step{name: span.NameSandbox, service: change.Kubelet, start: bound}
	for i := range s.versions {
		v := s.versions[i]
		if c := v.Condition(judge.PodSandboxReady); c != nil && c.Status == "True" {
			p.end = history.Arrival(v).Within(c.Since)
			break
		}
	}
	for _, t := range tracks {
		for _, m := range []history.Moment{t.firstSign(), t.firstStart()} {
			if m.Known() && (!p.end.Known() || m.At().Before(p.end.At().Time)) {
				p.end = m
			}
		}
	}
	if n := s.latest().Volumes; n > 0 {
		p.attrs = append(p.attrs, span.KeyVolumes.Int(n))
	}
	for _, e := range s.events {
		switch e.Reason {
		case "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "NetworkNotReady":
			p.message = e.Note
			p.events = append(p.events, Occurred(e))
		}
	}
	if p.end.Known() {
		p.message = ""
	}
	return p
}

// readiness returns the step from the start of the last container to Ready. It returns false before
// that start, and for a Pod that ends instead.
func (s *podStory) readiness(tracks []*track) (Step, bool) {
	if s.latest().Phase == "Succeeded" || s.latest().Phase == "Failed" {
		return Step{}, false
	}
	p := Step{name: span.NameReadiness, service: change.Kubelet}
	for _, t := range tracks {
		if t.init && !t.spec.Sidecar {
			continue
		}
		at := t.lastStart()
		if !at.Known() {
			return Step{}, false
		}
		if !p.start.Known() || at.At().After(p.start.At().Time) {
			p.start = at
		}
	}
	if !p.start.Known() {
		return Step{}, false
	}
	if gates := s.latest().ReadinessGates; len(gates) > 0 {
		p.attrs = append(p.attrs, attribute.StringSlice("k8s.pod.readiness_gates", gates))
	}
	if s.ready != nil {
		p.end = Ready(s.from.Times, s.r.Timeline, s.ready)
	} else {
		p.message = reason.Of(s.versions[len(s.versions)-1], s.events).Text
	}
	for _, e := range s.events {
		if e.Reason == "Unhealthy" {
			p.events = append(p.events, Occurred(e))
		}
	}
	return p, true
}

// endPhases returns the deletion of a Pod: from the request to the removal.
func (s *Steps) endPhases(r *change.Reconciliation) []Step {
	p := Step{name: span.NameTerminate, service: change.Kubelet, start: s.from.Times.Start(r)}
	if r.Timeline.Removal != nil {
		p.end = s.from.Times.Gone(r.Timeline)
	}
	if v := r.First().Version; v != nil && !v.Deleting.IsZero() {
		p.attrs = append(p.attrs, span.KeyGrace.Int64(v.GraceSeconds))
	}
	if last := r.Timeline.Last(); last != nil && last.Pod != nil {
		if last.Pod.Node == "" {
			p.service = change.Collector
		}
		for _, c := range last.Pod.Containers {
			if c.PreStop {
				p.attrs = append(p.attrs, span.KeyPreStop.Bool(true))
				break
			}
		}
	}
	for _, e := range r.Timeline.Events {
		switch e.Reason {
		case "Killing", "FailedPreStopHook", "FailedKillPod", "ExceededGracePeriod", "Preempted", "Evicted":
			p.events = append(p.events, Occurred(e))
		}
	}
	return []Step{p}
}

// Occurred returns the span event of a Kubernetes Event (rule L8).
func Occurred(e *history.Event) span.Event {
	attrs := []attribute.KeyValue{
		span.KeyReason.String(span.Bound(e.Reason)),
		span.KeyMessage.String(span.Bound(e.Note)),
		span.KeyEventType.String(span.Bound(e.Type)),
	}
	if e.Count > 1 {
		attrs = append(attrs, span.KeyEventCount.Int(int(e.Count)))
	}
	return span.Event{Time: e.At().At().Time, Name: span.EventPrefix + span.Bound(e.Reason), Attributes: attrs}
}
