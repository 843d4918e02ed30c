// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// podStory is what happened to a Pod in one reconciliation.
type podStory struct {
	d        *derivation
	r        *reconciliation
	versions []*version
	events   []*event
	// ready is the version in which the Pod had arrived; nil until then.
	ready *version
}

// podPhases are the steps from creation to Ready; those of a deletion are told
// by endPhases.
func (d *derivation) podPhases(r *reconciliation) []phase {
	s := &podStory{d: d, r: r, events: r.t.events}
	until := ^uint64(0)
	if r.superseded != nil {
		until = r.superseded.rv
	}
	if v := r.convergedBy(until); v != nil {
		s.ready, until = v, v.ResourceVersion
	}
	s.versions = make([]*version, 0, len(r.t.versions))
	for _, v := range r.t.versions {
		if v.ResourceVersion >= r.first().rv && v.ResourceVersion <= until && v.Pod != nil {
			s.versions = append(s.versions, v)
		}
	}
	if len(s.versions) == 0 {
		return nil
	}
	return s.phases()
}

// phases returns the steps. The result is valid until the next call for any Pod.
func (s *podStory) phases() []phase {
	out := s.steps(s.d.steps[:0])
	s.d.steps = out
	return out
}

// steps appends the steps to out.
func (s *podStory) steps(out []phase) []phase {
	schedule, bound := s.schedule()
	if schedule != nil {
		out = append(out, *schedule)
	}
	if !bound.known() {
		return out
	}
	latest := s.latest()
	var tracks []*track
	again := false
	for i := range latest.Init {
		tracks = append(tracks, s.follow(latest.Init[i], true))
	}
	for i := range latest.Containers {
		if !s.r.first().arrived.IsZero() && latest.Containers[i].Restarts > 0 {
			again = true // its first start is not known any more
			continue
		}
		tracks = append(tracks, s.follow(latest.Containers[i], false))
	}
	sandbox := s.sandbox(bound, tracks)
	out = append(out, sandbox)
	from := sandbox.end
	for _, t := range tracks {
		phases := t.phases(from)
		out = append(out, phases...)
		if t.init {
			if end := t.over(); end.known() {
				from = end
			}
		}
	}
	if p := s.readiness(tracks); p != nil && !again {
		out = append(out, *p)
	}
	for i := range out {
		s.cut(&out[i])
	}
	return out
}

// cut ends what is open when the reconciliation has ended without it.
func (s *podStory) cut(p *phase) {
	if !s.r.done {
		return
	}
	if !p.end.known() {
		p.end = s.r.ended.at
	}
	if s.r.first().arrived.IsZero() {
		return
	}
	// It was found when all was over: when is not known of everything.
	for _, m := range []*moment{&p.start, &p.end} {
		if m.at().After(s.r.ended.at.at().Time) {
			*m = s.r.ended.at
		}
	}
}

// completes reports whether the Pod is there until its containers exit: it is a Job's.
func (s *podStory) completes() bool {
	o := s.d.engine.controllerOf(s.r.t)
	return o != nil && kind.Job.Is(o.Kind)
}

func (s *podStory) latest() *podState { return s.versions[len(s.versions)-1].Pod }

// schedule is the step from created to bound; nil for a Pod that was created
// bound.
func (s *podStory) schedule() (*phase, moment) {
	first := s.versions[0]
	made := s.d.start(s.r)
	if first.Pod.Node != "" && s.r.first().verb == created && !first.baseline && !first.listed {
		return nil, made
	}
	p := &phase{name: span.NameSchedule, service: scheduler, start: made}
	if name := first.Pod.Scheduler; name != "" && name != "default-scheduler" {
		p.service = span.Bound(name)
	}
	for i := range s.versions {
		v := s.versions[i]
		c := v.Condition(podScheduled)
		if v.Pod.Node != "" {
			p.end = s.bound(i)
			p.attrs = append(p.attrs, span.KeyNode.String(v.Pod.Node))
			break
		}
		if c != nil && c.Status == "False" && (i == 0 || !equal(s.versions[i-1].Condition(podScheduled), c)) {
			p.message = c.Message
			p.events = append(
				p.events,
				span.Event{Time: arrival(v).at().Time, Name: span.EventUnschedulable, Attributes: []attribute.KeyValue{
					span.KeyReason.String(span.Bound(c.Reason)), span.KeyMessage.String(span.Bound(c.Message)),
				}},
			)
		}
	}
	if p.end.known() {
		p.message = ""
	} else if p.message != "" {
		p.failed = s.latest().Node == "" && p.message != "" && s.unschedulable()
	}
	return p, p.end
}

// bound is when the i-th version was stored, the first with a Node: by the audit
// log, by what admission has noted on the Pod if that is possible, or else by the
// condition.
func (s *podStory) bound(i int) moment {
	v := s.versions[i]
	m := s.d.stored(s.r.t, v)
	if m.exact != "" {
		return m
	}
	if c := v.Condition(podScheduled); c != nil && c.Status == "True" {
		m = m.within(c.Since)
	}
	at, made := time.Unix(0, v.Pod.Scheduled).UTC(), s.d.start(s.r)
	switch {
	case v.Pod.Scheduled == 0, i > 0 && s.versions[i-1].Pod.Scheduled != 0:
		return m // it was there before it was bound
	case at.After(v.seen.Add(skew)), at.Before(made.at().Time.Add(-skew)), m.live && m.hi.Sub(at) > unlikely:
		return m
	}
	return moment{lo: at, hi: at, exact: span.TimeAdmission}
}

// unlikely is by how much later than admitted a binding may be seen, live: what
// says more is not believed.
const unlikely = 30 * time.Second

func (s *podStory) unschedulable() bool {
	c := s.versions[len(s.versions)-1].Condition(podScheduled)
	return c != nil && c.Reason == reasonUnscheduled
}

// sandbox is the step from bound to a sandbox that containers can start in,
// volumes and network included. Its condition often arrives late, with the next
// status: that an image was pulled or a container was made proves it earlier.
func (s *podStory) sandbox(bound moment, tracks []*track) phase {
	p := phase{name: span.NameSandbox, service: kubelet, start: bound}
	for i := range s.versions {
		v := s.versions[i]
		if c := v.Condition(podSandboxReady); c != nil && c.Status == "True" {
			p.end = arrival(v).within(c.Since)
			break
		}
	}
	for _, t := range tracks {
		for _, m := range []moment{t.firstSign(), t.firstStart()} {
			if m.known() && (!p.end.known() || m.at().Before(p.end.at().Time)) {
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
			p.events = append(p.events, occurred(e))
		}
	}
	if p.end.known() {
		p.message = ""
	}
	return p
}

// readiness is the step from the last container's start to Ready; nil before
// that start and for Pods that end instead.
func (s *podStory) readiness(tracks []*track) *phase {
	if s.latest().Phase == "Succeeded" || s.latest().Phase == "Failed" {
		return nil
	}
	p := &phase{name: span.NameReadiness, service: kubelet}
	for _, t := range tracks {
		if t.init && !t.spec.Sidecar {
			continue
		}
		at := t.lastStart()
		if !at.known() {
			return nil
		}
		if !p.start.known() || at.at().After(p.start.at().Time) {
			p.start = at
		}
	}
	if !p.start.known() {
		return nil
	}
	if gates := s.latest().ReadinessGates; len(gates) > 0 {
		p.attrs = append(p.attrs, attribute.StringSlice("k8s.pod.readiness_gates", gates))
	}
	if s.ready != nil {
		p.end = s.d.stored(s.r.t, s.ready)
		if c := s.ready.Condition(podReady); c != nil {
			p.end = s.d.storedIn(s.r.t, s.ready, c.Since)
		}
	} else {
		p.message = podWaitsFor(s.versions[len(s.versions)-1])
	}
	for _, e := range s.events {
		if e.Reason == "Unhealthy" {
			p.events = append(p.events, occurred(e))
		}
	}
	return p
}

// endPhases is the deletion of a Pod: from the request to gone.
func (d *derivation) endPhases(r *reconciliation) []phase {
	p := phase{name: span.NameTerminate, service: kubelet, start: d.start(r)}
	if r.t.removal != nil {
		p.end = d.goneAt(r.t)
	}
	if v := r.first().v; v != nil && !v.Deleting.IsZero() {
		p.attrs = append(p.attrs, span.KeyGrace.Int64(v.GraceSeconds))
	}
	if last := r.t.last(); last != nil && last.Pod != nil {
		if last.Pod.Node == "" {
			p.service = collector
		}
		for _, c := range last.Pod.Containers {
			if c.PreStop {
				p.attrs = append(p.attrs, span.KeyPreStop.Bool(true))
				break
			}
		}
	}
	for _, e := range r.t.events {
		switch e.Reason {
		case "Killing", "FailedPreStopHook", "FailedKillPod", "ExceededGracePeriod", "Preempted", "Evicted":
			p.events = append(p.events, occurred(e))
		}
	}
	return []phase{p}
}

// occurred makes a span event of a Kubernetes Event (rule L8).
func occurred(e *event) span.Event {
	attrs := []attribute.KeyValue{
		span.KeyReason.String(span.Bound(e.Reason)),
		span.KeyMessage.String(span.Bound(e.Note)),
		span.KeyEventType.String(span.Bound(e.Type)),
	}
	if e.Count > 1 {
		attrs = append(attrs, span.KeyEventCount.Int(int(e.Count)))
	}
	return span.Event{Time: e.at().at().Time, Name: span.EventPrefix + span.Bound(e.Reason), Attributes: attrs}
}
