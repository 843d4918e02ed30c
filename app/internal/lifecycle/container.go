// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// track follows one container of a Pod through its attempts.
type track struct {
	story *podStory
	spec  *observation.Container
	init  bool
	// attempts are indexed by restart count.
	attempts []attempt
	// events are those of this container, in order.
	events []*event
	// backoffs are the waits after a crash, by the attempt that crashed.
	waiting string // the reason of the newest state, if it waits
	waitMsg string
}

// attempt is one run of a container.
type attempt struct {
	started, finished moment
	exit              *observation.ContainerState
}

func (s *podStory) follow(spec *observation.Container, init bool) *track {
	t := &track{story: s, spec: spec, init: init}
	for i := range s.versions {
		if c := find(s.versions[i].Pod, spec.Name, init); c != nil {
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
			break // what comes after Ready is another story
		}
		t.events = append(t.events, e)
		if e.Reason == "Started" {
			t.start(starts, e.at())
			starts++
		}
	}
	return t
}

func find(p *podState, name string, init bool) *observation.Container {
	list := p.Containers
	if init {
		list = p.Init
	}
	for i := range list {
		if list[i].Name == name {
			return list[i]
		}
	}
	return nil
}

// learn takes from one version what it says of the container's attempts.
func (t *track) learn(c *observation.Container, v *version) {
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

func (t *track) ran(n int, st *observation.ContainerState, v *version) {
	if st == nil || st.Waiting || n > 1<<16 {
		return
	}
	for len(t.attempts) <= n {
		t.attempts = append(t.attempts, attempt{})
	}
	a := &t.attempts[n]
	if !st.Started.IsZero() && !a.started.known() {
		a.started = arrival(v).within(st.Started)
	}
	if st.Terminated() && a.exit == nil {
		a.exit = st
		a.finished = arrival(v).within(st.Finished)
	}
}

// start refines the n-th start by its Event, which comes sooner than the
// status.
func (t *track) start(n int, at moment) {
	if n >= len(t.attempts) {
		if t.story.ready != nil {
			return
		}
		t.attempts = append(t.attempts, attempt{started: at})
		return
	}
	a := &t.attempts[n]
	if !a.started.known() ||
		at.live && !at.at().After(a.started.at().Time.Add(time.Second)) && !at.at().Before(a.started.lo) {
		a.started = at
	}
}

// firstSign is the first proof that the sandbox was there.
func (t *track) firstSign() moment {
	if len(t.events) == 0 {
		return moment{}
	}
	return t.events[0].at()
}

func (t *track) firstStart() moment {
	if len(t.attempts) == 0 {
		return moment{}
	}
	return t.attempts[0].started
}

func (t *track) lastStart() moment {
	for i := len(t.attempts) - 1; i >= 0; i-- {
		if t.attempts[i].started.known() {
			return t.attempts[i].started
		}
	}
	return moment{}
}

// over is when an init container let the next one begin: its success, or for a
// sidecar its start.
func (t *track) over() moment {
	if len(t.attempts) == 0 {
		return moment{}
	}
	last := t.attempts[len(t.attempts)-1]
	if t.spec.Sidecar {
		return last.started
	}
	return last.finished
}

// phases are the container's pulls, starts and waits. from is when it could
// begin.
func (t *track) phases(from moment) []phase {
	out := t.pulls()
	ready := t.imagesReady()
	for n, a := range t.attempts {
		if !a.started.known() {
			continue
		}
		begin := from
		if n > 0 && t.attempts[n-1].finished.known() {
			begin = t.attempts[n-1].finished
		}
		if n < len(ready) && ready[n].known() {
			begin = ready[n]
		}
		p := phase{
			name:    span.NameStart,
			service: kubelet,
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
			run := phase{
				name: span.NameRunning, service: kubelet, key: t.spec.Name, attempt: n + 1,
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

// open reports whether attempt n is a run that ends by itself and has not ended.
func (t *track) open(n int) bool {
	return n == len(t.attempts)-1 && !t.init && t.story.completes()
}

// exit adds the exit of an attempt to the phase that ended with it.
func (t *track) exit(p *phase, a *attempt) {
	if a.exit == nil {
		return
	}
	p.events = append(p.events, exited(a))
	if msg := exitMessage(t.spec.Name, a.exit); msg != "" {
		p.failed, p.message = true, msg
	}
}

func (t *track) attrs() []attribute.KeyValue {
	return []attribute.KeyValue{
		span.KeyContainer.String(span.Bound(t.spec.Name)),
		span.KeyImage.String(span.Bound(t.spec.Image)),
	}
}

func exited(a *attempt) span.Event {
	attrs := []attribute.KeyValue{
		span.KeyExit.Int(int(a.exit.ExitCode)),
		span.KeyReason.String(span.Bound(a.exit.Reason)),
	}
	return span.Event{Time: a.finished.at().Time, Name: span.EventExited, Attributes: attrs}
}

// backoff is the wait between the end of attempt n and the next start. Only a
// wait that the kubelet imposed counts.
func (t *track) backoff(n int) (phase, bool) {
	a := t.attempts[n]
	if a.exit == nil || t.init && !t.spec.Sidecar && a.exit.ExitCode == 0 {
		return phase{}, false
	}
	p := phase{
		name:    span.NameBackoff,
		service: kubelet,
		key:     t.spec.Name,
		attempt: n + 1,
		start:   a.finished,
		attrs:   t.attrs(),
	}
	p.failed, p.message = a.exit.ExitCode != 0, exitMessage(t.spec.Name, a.exit)
	p.attrs = append(p.attrs, span.KeyReason.String("CrashLoopBackOff"), span.KeyExit.Int(int(a.exit.ExitCode)))
	switch {
	case n+1 < len(t.attempts) && t.attempts[n+1].started.known():
		next := t.attempts[n+1].started
		if r := t.imagesReady(); n+1 < len(r) && r[n+1].known() {
			next = r[n+1]
		}
		if next.at().Sub(a.finished.at().Time) < 2*time.Second {
			return phase{}, false // restarted at once
		}
		p.end = next
	case t.waiting != "CrashLoopBackOff":
		return phase{}, false
	}
	return p, true
}

// imagesReady is when the image was there, for each start.
func (t *track) imagesReady() []moment {
	var out []moment
	var pulled moment
	for _, e := range t.events {
		switch e.Reason {
		case "Pulled":
			pulled = e.at()
		case "Started":
			out = append(out, pulled)
			pulled = moment{}
		}
	}
	if pulled.known() {
		out = append(out, pulled)
	}
	return out
}

// pulledIn finds the exact length of a pull in its Event's message:
// `Successfully pulled image "x" in 2.9s (2.9s including waiting). …`.
var pulledIn = regexp.MustCompile(
	`^Successfully pulled image .* in ([0-9hmsnuµ.]+) \(([0-9hmsnuµ.]+) including waiting\)`,
)

// pulls are the image pulls, and the waits after those that failed.
func (t *track) pulls() []phase {
	var out []phase
	var open *phase
	n := 0
	closeAt := func(e *event) {
		open.end = e.at()
		out = append(out, *open)
		open = nil
	}
	begin := func(at moment) {
		n++
		open = &phase{name: span.NamePull, service: kubelet, key: t.spec.Name, attempt: n, start: at, attrs: t.attrs()}
	}
	for _, e := range t.events {
		switch {
		case e.Reason == "Pulling":
			if len(out) > 0 && out[len(out)-1].name == span.NameBackoff && !out[len(out)-1].end.known() {
				out[len(out)-1].end = e.at()
			}
			begin(e.at())
		case e.Reason == "Pulled":
			m := pulledIn.FindStringSubmatch(e.Note)
			if m == nil {
				continue // it was there already
			}
			if open == nil {
				begin(e.at())
			}
			if took, err := time.ParseDuration(m[1]); err == nil {
				open.precise = took
			}
			closeAt(e)
		case e.Reason == "Failed" && strings.HasPrefix(e.Note, "Failed to pull image"):
			if open == nil {
				begin(e.at())
			}
			open.failed, open.message = true, e.Note
			closeAt(e)
			out = append(out, phase{
				name:    span.NameBackoff,
				service: kubelet,
				key:     t.spec.Name + "/image",
				attempt: n,
				start:   e.at(),
				failed:  true,
				message: e.Note,
				attrs:   append(t.attrs(), span.KeyReason.String("ImagePullBackOff")),
			})
		}
	}
	if open != nil {
		out = append(out, *open)
	}
	return out
}
