// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// incident is what happened to a Pod at one time.
type incident struct {
	at time.Time
	span.Incidents
}

// happened returns what happened to a Pod between two of its versions, the older one first. The deletion of a Pod ends
// its containers and its readiness as declared: only an eviction counts then.
func happened(before, v *history.Version) (out []incident) {
	if now := evicted(v); now && !evicted(before) {
		out = append(out, incident{v.Seen, span.Incidents{Evictions: 1}})
	}
	if !v.Deleting.IsZero() {
		return out
	}
	if judge.Holds(before, judge.PodReady) && !judge.Holds(v, judge.PodReady) && v.Pod.Phase != "Succeeded" {
		out = append(out, incident{v.Seen, span.Incidents{ReadinessLosses: 1}})
	}
	for _, init := range []bool{true, false} {
		list := v.Pod.Containers
		if init {
			list = v.Pod.Init
		}
		for _, c := range list {
			if was := before.Pod.Container(c.Name, init); was != nil && was != c {
				out = append(out, ends(was, c, v.Seen)...)
			}
		}
	}
	return out
}

// incidents returns the incidents that the kept observations of a Pod show.
func incidents(pod *change.Timeline) (out []incident) {
	for i := 1; i < len(pod.Versions); i++ {
		if before, v := pod.Versions[i-1], pod.Versions[i]; before.Pod != nil && v.Pod != nil {
			out = append(out, happened(before, v)...)
		}
	}
	for _, e := range pod.Events {
		if e.Reason == unhealthy {
			out = append(out, incident{e.At().At().Time, span.Incidents{FailedProbes: 1}})
		}
	}
	return out
}

// unhealthy is the reason of an Event about a failed probe.
const unhealthy = "Unhealthy"

// evicted reports whether a Pod is or was being evicted: by a request, for a taint, for a Pod of higher priority, or by
// its kubelet.
func evicted(v *history.Version) bool {
	return change.Disruption(v) != "" || v.Pod.Phase == "Failed" && v.Pod.Reason == "Evicted"
}

// ends returns the restarts and the ends of a container between two of its states. A status shows at most two ends of
// many, so restarts may be more.
func ends(was, c *observation.Container, seen time.Time) (out []incident) {
	restarts := int(c.Restarts - was.Restarts)
	for _, s := range []*observation.ContainerState{c.Last, c.State} {
		if !s.Terminated() || slices.ContainsFunc(
			[]*observation.ContainerState{was.Last, was.State},
			func(old *observation.ContainerState) bool { return sameEnd(old, s) },
		) {
			continue
		}
		one := incident{at: seen}
		if s.Finished.Before(seen) {
			one.at = s.Finished
		}
		code := int(s.ExitCode)
		if s.Signal != 0 {
			code = signals + int(s.Signal)
		}
		one.Exits = []span.Exit{{Container: span.Bound(c.Name), Code: code, Reason: span.Bound(s.Reason), Count: 1}}
		if s.Reason == "OOMKilled" {
			one.OOMKills = 1
		}
		out = append(out, one)
	}
	if restarts > 0 {
		one := incident{at: seen, Incidents: span.Incidents{Restarts: restarts}}
		if c.State.Running() && c.State.Started.Before(seen) {
			one.at = c.State.Started
		}
		out = append(out, one)
	}
	return out
}

// signals is the offset of the exit code from the number of a signal, as in a shell.
const signals = 128

// sameEnd reports whether two states are of one end of a container.
func sameEnd(a, b *observation.ContainerState) bool {
	return a.Terminated() && a.Finished.Equal(b.Finished) && a.Started.Equal(b.Started) && a.ExitCode == b.ExitCode
}

// probe is the count of an Event about failed probes, and the time of its observation.
type probe struct {
	count int
	seen  time.Time
}

const (
	// maxProbes bounds the remembered Events about failed probes.
	maxProbes = 1 << 14
	// eventLife is the time after its last occurrence for which a cluster keeps an Event, as a rule, and some more.
	eventLife = 65 * time.Minute
)

// occurred returns the time of the last occurrence of an Event.
func occurred(o *observation.Observation) time.Time {
	for _, at := range []time.Time{o.Event.Last, o.Event.Time, o.Event.First} {
		if !at.IsZero() && at.Before(o.Seen) {
			return at
		}
	}
	return o.Seen
}

const (
	// maxDays bounds the workloads with remembered incidents, and maxParts the times of one workload.
	maxDays, maxParts = 4096, 32
	// daysKept is the time for which incidents are remembered. A change that begins now may be handed out later.
	daysKept = 2 * beforeWindow
)

// days are the incidents of one workload in the last days, in order of time. Above maxParts, the older ones are joined:
// their times are less exact then.
type days struct{ parts []dayPart }

// dayPart is what happened in an interval of time.
type dayPart struct {
	from, to  time.Time
	incidents span.Incidents
}

// add adds an incident.
func (d *days) add(one incident) {
	i, _ := slices.BinarySearchFunc(d.parts, one.at, func(p dayPart, at time.Time) int { return p.to.Compare(at) })
	if i < len(d.parts) && !one.at.Before(d.parts[i].from) {
		d.parts[i].incidents.Add(&one.Incidents)
		return
	}
	d.parts = slices.Insert(d.parts, i, dayPart{one.at, one.at, one.Incidents})
	if len(d.parts) <= maxParts {
		return
	}
	var joined []dayPart
	for i, p := range d.parts {
		if n := len(joined); i%2 == 1 && i < maxParts/2 {
			joined[n-1].to = p.to
			joined[n-1].incidents.Add(&p.incidents)
		} else {
			joined = append(joined, p)
		}
	}
	d.parts = joined
}

// between returns the incidents from one time to another.
func (d *days) between(from, to time.Time) (out span.Incidents) {
	for _, p := range d.parts {
		if !p.to.Before(from) && p.from.Before(to) {
			out.Add(&p.incidents)
		}
	}
	return out
}

// forget forgets the old incidents.
func (d *days) forget(now time.Time) {
	d.parts = slices.DeleteFunc(d.parts, func(p dayPart) bool { return now.Sub(p.to) > daysKept })
}
