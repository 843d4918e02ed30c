// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// track is the course of one container of a Pod through its attempts.
type track struct {
	story *podStory
	spec  *observation.Container
	init  bool
	// attempts are in order of restart count, from 0.
	attempts []attempt
	// events are the Events of this container, in order.
	events []*history.Event
	// waiting and waitMsg are the reason and message of the newest state, if the container waits.
	waiting, waitMsg string
}

// attempt is one run of a container.
type attempt struct {
	started, finished history.Moment
	exit              *observation.ContainerState
}

// follow returns the track of the container spec. init means that it is an init container.
func (s *podStory) follow(spec *observation.Container, init bool) *track {
	t := &track{story: s, spec: spec, init: init, events: make([]*history.Event, 0, len(s.events))}
	for i := range s.versions {
		if c := s.versions[i].Pod.Container(spec.Name, init); c != nil {
			t.learn(c, s.versions[i])
		}
	}
	want := "spec.containers{" + spec.Name + "}"
	if init {
		want = "spec.initContainers{" + spec.Name + "}"
	}
	starts := 0
	for _, e := range s.events {
		if e.FieldPath != want {
			continue
		}
		if s.ready != nil && starts >= len(t.attempts) {
			break // later starts are after Ready
		}
		t.events = append(t.events, e)
		if e.Reason == "Started" {
			t.start(starts, e.At())
			starts++
		}
	}
	return t
}

// learn adds the attempts of the container in one version.
func (t *track) learn(c *observation.Container, v *history.Version) {
	n := int(c.Restarts)
	t.waiting, t.waitMsg = "", ""
	switch {
	case c.State == nil:
	case c.State.Waiting:
		t.waiting, t.waitMsg = c.State.Reason, c.State.Message
		t.ran(n, c.Last, v)
		return
	default:
		t.ran(n, c.State, v)
	}
	if n > 0 {
		t.ran(n-1, c.Last, v)
	}
}

// ran adds to attempt n what st shows of it, in version v.
func (t *track) ran(n int, st *observation.ContainerState, v *history.Version) {
	if st == nil || st.Waiting || n > 1<<16 {
		return
	}
	for len(t.attempts) <= n {
		t.attempts = append(t.attempts, attempt{})
	}
	a := &t.attempts[n]
	if !st.Started.IsZero() && !a.started.Known() {
		a.started = history.Arrival(v).Within(st.Started)
	}
	if st.Terminated() && a.exit == nil {
		a.exit = st
		a.finished = history.Arrival(v).Within(st.Finished)
	}
}

// start refines the n-th start by its Event, because that arrives before the status.
func (t *track) start(n int, at history.Moment) {
	if n >= len(t.attempts) {
		if t.story.ready != nil {
			return
		}
		t.attempts = append(t.attempts, attempt{started: at})
		return
	}
	a := &t.attempts[n]
	if !a.started.Known() ||
		at.Live && !at.At().After(a.started.At().Time.Add(time.Second)) && !at.At().Before(a.started.Lo) {
		a.started = at
	}
}

// firstSign returns the time of the first Event of the container. It proves that the sandbox
// existed.
func (t *track) firstSign() history.Moment {
	if len(t.events) == 0 {
		return history.Moment{}
	}
	return t.events[0].At()
}

// firstStart returns the start of the first attempt.
func (t *track) firstStart() history.Moment {
	if len(t.attempts) == 0 {
		return history.Moment{}
	}
	return t.attempts[0].started
}

// lastStart returns the last known start.
func (t *track) lastStart() history.Moment {
	for i := len(t.attempts) - 1; i >= 0; i-- {
		if t.attempts[i].started.Known() {
			return t.attempts[i].started
		}
	}
	return history.Moment{}
}

// over returns the time from which the next container could start: the end of an init container, or
// the start of a sidecar. A sidecar may start again later than next, the first start of that container.
func (t *track) over(next history.Moment) history.Moment {
	if len(t.attempts) == 0 {
		return history.Moment{}
	}
	if !t.spec.Sidecar {
		return t.attempts[len(t.attempts)-1].finished
	}
	for n, a := range slices.Backward(t.attempts) {
		again := n > 0 && next.Known() && a.started.At().After(next.At().Time)
		if a.started.Known() && !again {
			return a.started
		}
	}
	return history.Moment{}
}

// phases appends the pulls, starts and waits of the container to out. from is the earliest time for
// its start.
func (t *track) phases(out []Step, from history.Moment) []Step {
	out = t.pulls(out)
	ready := t.imagesReady()
	for n, a := range t.attempts {
		if !a.started.Known() {
			continue
		}
		begin := from
		if n > 0 && t.attempts[n-1].finished.Known() {
			begin = t.attempts[n-1].finished
		}
		if n < len(ready) && ready[n].Known() {
			begin = ready[n]
		}
		p := Step{
			name:    span.NameStart,
			service: change.Kubelet,
			key:     t.spec.Name,
			attempt: n + 1,
			start:   begin,
			end:     a.started,
			attrs:   t.attrs(),
		}
		if t.init && !t.spec.Sidecar {
			p.name, p.end = span.NameInit, a.finished
			t.exit(&p, &a)
		}
		out = append(out, p)
		if p.name == span.NameStart && (a.exit != nil || t.open(n)) {
			run := Step{
				name: span.NameRunning, service: change.Kubelet, key: t.spec.Name, attempt: n + 1,
				start: a.started, end: a.finished, attrs: t.attrs(),
			}
			t.exit(&run, &a)
			out = append(out, run)
		}
		if w, ok := t.backoff(n); ok {
			out = append(out, w)
		}
	}
	return out
}

// open reports whether attempt n is the newest run of a container that exits by itself.
func (t *track) open(n int) bool {
	return n == len(t.attempts)-1 && !t.init && t.story.completes()
}

// exit adds the exit of an attempt to the phase that it ended.
func (t *track) exit(p *Step, a *attempt) {
	if a.exit == nil {
		return
	}
	p.events = append(p.events, exited(a))
	if msg := judge.ExitMessage(t.spec.Name, a.exit); msg != "" && !t.stopped(a) {
		p.failed, p.message = true, msg
	}
}

// stopped reports whether the kubelet stopped a sidecar because the other containers had ended: its exit code
// is no failure.
func (t *track) stopped(a *attempt) bool {
	if !t.spec.Sidecar || len(t.story.versions) == 0 {
		return false
	}
	for _, c := range t.story.versions[len(t.story.versions)-1].Pod.Containers {
		if !c.State.Terminated() || c.State.Finished.After(a.exit.Finished) {
			return false
		}
	}
	return true
}

func (t *track) attrs() []attribute.KeyValue {
	return []attribute.KeyValue{
		span.KeyContainer.String(span.Bound(t.spec.Name)),
		span.KeyImage.String(span.Bound(t.spec.Image)),
	}
}

// exited returns the span event of the exit of an attempt.
func exited(a *attempt) span.Event {
	attrs := []attribute.KeyValue{
		span.KeyExit.Int(int(a.exit.ExitCode)),
		span.KeyReason.String(span.Bound(a.exit.Reason)),
	}
	return span.Event{Time: a.finished.At().Time, Name: span.EventExited, Attributes: attrs}
}

// backoff returns the wait between the end of attempt n and the next start. Only a wait imposed by
// the kubelet counts.
func (t *track) backoff(n int) (Step, bool) {
	a := t.attempts[n]
	if a.exit == nil || t.init && !t.spec.Sidecar && a.exit.ExitCode == 0 {
		return Step{}, false
	}
	p := Step{
		name:    span.NameBackoff,
		service: change.Kubelet,
		key:     t.spec.Name,
		attempt: n + 1,
		start:   a.finished,
		attrs:   t.attrs(),
	}
	p.failed, p.message = a.exit.ExitCode != 0, judge.ExitMessage(t.spec.Name, a.exit)
	p.attrs = append(p.attrs, span.KeyReason.String("CrashLoopBackOff"), span.KeyExit.Int(int(a.exit.ExitCode)))
	switch {
	case n+1 < len(t.attempts) && t.attempts[n+1].started.Known():
		next := t.attempts[n+1].started
		if r := t.imagesReady(); n+1 < len(r) && r[n+1].Known() {
			next = r[n+1]
		}
		if next.At().Sub(a.finished.At().Time) < 2*time.Second {
			return Step{}, false // restarted at once
		}
		p.end = next
	case t.waiting != "CrashLoopBackOff":
		return Step{}, false
	}
	return p, true
}

// imagesReady returns the time from which the image was present, for each start.
func (t *track) imagesReady() []history.Moment {
	var out []history.Moment
	var pulled history.Moment
	for _, e := range t.events {
		switch e.Reason {
		case "Pulled":
			pulled = e.At()
		case "Started":
			out = append(out, pulled)
			pulled = history.Moment{}
		}
	}
	if pulled.Known() {
		out = append(out, pulled)
	}
	return out
}

// pulledIn returns the exact length of a pull by the message of its Event, such as `Successfully
// pulled image "x" in 2.9s (2.9s including waiting). …`. It returns false for other messages, for
// example about an image that was present.
func pulledIn(note string) (time.Duration, bool) {
	note, pulled := strings.CutPrefix(note, "Successfully pulled image ")
	end := strings.LastIndex(note, " including waiting)")
	if !pulled || end < 0 {
		return 0, false
	}
	begin := strings.LastIndex(note[:end], " in ")
	if begin < 0 {
		return 0, false
	}
	took, _, waited := strings.Cut(note[begin+len(" in "):end], " (")
	length, _ := time.ParseDuration(took) // 0 means unknown
	return max(length, 0), waited
}

// pulls appends the image pulls, and the waits after failed ones, to out.
func (t *track) pulls(out []Step) []Step {
	var open Step
	pulling, n, first := false, 0, len(out)
	closeAt := func(e *history.Event) {
		open.end = e.At()
		out = append(out, open)
		pulling = false
	}
	begin := func(at history.Moment) {
		n++
		open = Step{
			name:    span.NamePull,
			service: change.Kubelet,
			key:     t.spec.Name,
			attempt: n,
			start:   at,
			attrs:   t.attrs(),
		}
		pulling = true
	}
	for _, e := range t.events {
		switch {
		case e.Reason == "Pulling":
			if len(out) > first && out[len(out)-1].name == span.NameBackoff && !out[len(out)-1].end.Known() {
				out[len(out)-1].end = e.At()
			}
			begin(e.At())
		case e.Reason == "Pulled":
			took, pulled := pulledIn(e.Note)
			if !pulled {
				continue
			}
			if !pulling {
				begin(e.At())
			}
			open.precise = took
			closeAt(e)
		case e.Reason == "Failed" && strings.HasPrefix(e.Note, "Failed to pull image"):
			if !pulling {
				begin(e.At())
			}
			open.failed, open.message = true, e.Note
			closeAt(e)
			out = append(out, Step{
				name:    span.NameBackoff,
				service: change.Kubelet,
				key:     t.spec.Name + "/image",
				attempt: n,
				start:   e.At(),
				failed:  true,
				message: e.Note,
				attrs:   append(t.attrs(), span.KeyReason.String("ImagePullBackOff")),
			})
		}
	}
	if pulling {
		out = append(out, open)
	}
	return out
}
