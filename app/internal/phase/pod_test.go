// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// bind binds a Pod to a Node.
func bind(s *observation.State) { s.Pod.Node = "node-1" }

// container sets the restarts and the states of the container app.
func container(restarts int32, state, last *observation.ContainerState) edit {
	return func(s *observation.State) {
		c := &s.Pod.Containers[0]
		c.Restarts, c.State, c.Last = restarts, state, last
	}
}

// running is a container that started in that second.
func running(n float64) *observation.ContainerState {
	return &observation.ContainerState{Started: second(n)}
}

// ran is a container that ran from one second to another.
func ran(from, to float64, code int32) *observation.ContainerState {
	return &observation.ContainerState{Started: second(from), Finished: second(to), ExitCode: code}
}

// waiting is a container that waits for that reason.
func waiting(reason string) *observation.ContainerState {
	return &observation.ContainerState{Waiting: true, Reason: reason}
}

// ready means that the Pod is ready since that second.
func ready(since float64) edit { return condition("Ready", "True", since) }

// ofJob makes the Pod one of a Job.
func ofJob(s *observation.State) {
	s.Owners = []object.Owner{{Kind: kind.Job.Kind, Name: "load", UID: "load", Controller: true}}
}

// phase sets the phase of a Pod.
func phase(p string) edit { return func(s *observation.State) { s.Pod.Phase = p } }

// TestPodPhases: a new Pod is bound, gets its sandbox and its containers, and is ready.
func TestPodPhases(t *testing.T) {
	pod := func(w *world) *story { return w.object(&kind.Pod, "web-a").put(10) }
	// complete is a Pod that is ready at 16.
	complete := func(w *world) *story {
		return pod(w).put(11, bind).put(13, condition("PodReadyToStartContainers", "True", 12)).
			put(15, container(0, running(14), nil)).put(16, ready(16))
	}
	testPhases(t, map[string]phased{
		"created": {"it waits for a Node", func(w *world) *change.Reconciliation {
			return pod(w).begin(10)
		}, []string{"schedule 10-"}},
		"bound": {"it waits for its sandbox", func(w *world) *change.Reconciliation {
			return pod(w).put(11, bind).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-"}},
		"sandbox": {"it waits for its container", func(w *world) *change.Reconciliation {
			return pod(w).put(11, bind).put(13, condition("PodReadyToStartContainers", "True", 12)).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-13"}},
		"started": {"it waits to be ready", func(w *world) *change.Reconciliation {
			return pod(w).put(11, bind).put(15, container(0, running(14), nil)).begin(10)
		}, []string{
			"schedule 10-11", "sandbox 11-15", "start container app #1 15-15",
			"readiness 15-: waits for container app to be ready",
		}},
		"ready": {"it is ready", func(w *world) *change.Reconciliation { return complete(w).begin(10) },
			[]string{"schedule 10-11", "sandbox 11-13", "start container app #1 13-15", "readiness 15-16"}},
		"later": {"versions after Ready add nothing", func(w *world) *change.Reconciliation {
			return complete(w).put(40, condition("Ready", "False", 40), container(0, ran(14, 39, 1), nil)).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-13", "start container app #1 13-15", "readiness 15-16"}},
		"replaced": {"versions after the replacement add nothing", func(w *world) *change.Reconciliation {
			r := complete(w).begin(10)
			r.Superseded = &change.Write{RV: 12}
			return done(r, 12)
		}, []string{"schedule 10-11", "sandbox 11-12"}},
		"ended": {"the open step ends with the reconciliation", func(w *world) *change.Reconciliation {
			return done(pod(w).put(11, bind).begin(10), 14)
		}, []string{"schedule 10-11", "sandbox 11-14"}},
		"created bound": {"a DaemonSet once bound its Pods itself", func(w *world) *change.Reconciliation {
			return w.object(&kind.Pod, "web-a").put(10, bind).begin(10)
		}, []string{"sandbox 10-"}},
		"listed bound": {"its binding was not observed", func(w *world) *change.Reconciliation {
			s := w.object(&kind.Pod, "web-a").put(10, bind)
			s.Versions[0].Listed = true
			return s.begin(10)
		}, []string{"schedule 10-10", "sandbox 10-"}},
		"update": {"a change of a Pod has no steps", func(w *world) *change.Reconciliation {
			r := complete(w).begin(10)
			r.Verb = history.Updated
			return r
		}, nil},
		"no version": {"nothing is known of the Pod", func(*world) *change.Reconciliation {
			return &change.Reconciliation{Timeline: &change.Timeline{}, Verb: history.Created}
		}, nil},
		"Job": {"the container of a Job ends by itself", func(w *world) *change.Reconciliation {
			return w.object(&kind.Pod, "load-a").put(10, ofJob).put(11, bind).
				put(13, container(0, running(12), nil)).
				put(20, phase("Succeeded"), container(0, ran(12, 19, 0), nil)).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-13", "start container app #1 13-13", "run container app #1 13-20"}},
		"running Job": {"the container of a Job runs", func(w *world) *change.Reconciliation {
			return w.object(&kind.Pod, "load-a").put(10, ofJob).put(11, bind).put(13,
				container(0, running(12), nil)).begin(10)
		}, []string{
			"schedule 10-11", "sandbox 11-13", "start container app #1 13-13", "run container app #1 13-",
			"readiness 13-: waits for container app to complete",
		}},
		"failed": {"a failed Pod does not get ready", func(w *world) *change.Reconciliation {
			return pod(w).put(11, bind).put(13, container(0, running(12), nil)).
				put(20, phase("Failed"), container(0, ran(12, 19, 1), nil)).begin(10)
		}, []string{
			"schedule 10-11", "sandbox 11-13", "start container app #1 13-13",
			"run container app #1 13-20 failed: container app exited with code 1",
		}},
	})
}

// TestSchedule: the scheduler may try several times.
func TestSchedule(t *testing.T) {
	refusedAt := func(at float64, message string) edit {
		return explained("PodScheduled", "False", "Unschedulable", message, at)
	}
	w := newWorld()
	s := w.object(&kind.Pod, "web-a").put(10).put(11, refusedAt(11, "no CPU")).
		put(12, func(s *observation.State) { s.Pod.Volumes = 1 }).put(13, refusedAt(13, "no memory"))
	p := step(t, w.Of(s.begin(10)), span.NameSchedule)
	if diff := cmp.Diff([]string{"schedule 10- failed: no memory"}, text([]Step{*p})); diff != "" {
		t.Errorf("waiting: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{span.EventUnschedulable, span.EventUnschedulable}, p.eventNames()); diff != "" {
		t.Errorf("attempts: -want +got:\n%s", diff)
	}
	s.put(15, bind, condition("PodScheduled", "True", 15))
	p = step(t, w.Of(s.begin(10)), span.NameSchedule)
	if diff := cmp.Diff([]string{"schedule 10-15"}, text([]Step{*p})); diff != "" {
		t.Errorf("bound: -want +got:\n%s", diff)
	}
	if p.service != change.Scheduler || p.attribute(string(span.KeyNode)) != "node-1" {
		t.Errorf("got %s and node %q, want the scheduler and node-1", p.service, p.attribute(string(span.KeyNode)))
	}

	gated := w.object(&kind.Pod, "web-b").put(10, explained("PodScheduled", "False", "SchedulingGated", "a gate", 10),
		func(s *observation.State) { s.Pod.Scheduler = "own-scheduler" })
	p = step(t, w.Of(gated.begin(10)), span.NameSchedule)
	if p.failed || p.message != "a gate" || p.service != "own-scheduler" {
		t.Errorf("got failed %t, %q by %s; want a wait by its own scheduler", p.failed, p.message, p.service)
	}
}

// TestBound: the time that admission noted counts if it is possible.
func TestBound(t *testing.T) {
	noted := func(n float64) edit {
		return func(s *observation.State) { s.Pod.Scheduled = second(n) }
	}
	cases := map[string]struct {
		reason string
		set    func(s *story)
		want   history.Moment
	}{
		"watch": {"the arrival is all that is known", func(s *story) { s.put(12, bind) },
			history.Moment{Hi: second(12), Live: true}},
		"condition": {"the condition has the second", func(s *story) {
			s.put(20, bind, condition("PodScheduled", "True", 12))
		}, history.Whole(second(12))},
		"not scheduled": {"the condition is not about the binding", func(s *story) {
			s.put(20, bind, condition("PodScheduled", "False", 12))
		}, history.Moment{Hi: second(20), Live: true}},
		"admission": {"admission noted it", func(s *story) { s.put(12, bind, noted(11.5)) },
			history.Moment{Lo: second(11.5), Hi: second(11.5), Exact: span.TimeAdmission}},
		"before": {"the note is from before the binding", func(s *story) { s.put(11, noted(11)).put(12, bind) },
			history.Moment{Hi: second(12), Live: true}},
		"too late": {"the note is from after the observation", func(s *story) { s.put(12, bind, noted(12.3)) },
			history.Moment{Hi: second(12), Live: true}},
		"clocks": {"the clocks may differ a little", func(s *story) { s.put(12, bind, noted(12.2)) },
			history.Moment{Lo: second(12.2), Hi: second(12.2), Exact: span.TimeAdmission}},
		"too early": {"the Pod was not there", func(s *story) { s.put(12, bind, noted(9.7)) },
			history.Moment{Hi: second(12), Live: true}},
		"too long ago": {"a live observation is not that late", func(s *story) { s.put(45, bind, noted(14.9)) },
			history.Moment{Hi: second(45), Live: true}},
		"long ago": {"a live observation may be late", func(s *story) { s.put(45, bind, noted(15)) },
			history.Moment{Lo: second(15), Hi: second(15), Exact: span.TimeAdmission}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			s := w.object(&kind.Pod, "web-a").put(10)
			tc.set(s)
			if diff := cmp.Diff(tc.want, step(t, w.Of(s.begin(10)), span.NameSchedule).end); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// audited are the times of a cluster whose audit log has a request for each version.
type audited struct{ watched }

func (audited) Stored(_ *change.Timeline, v *history.Version) history.Moment {
	at := v.Seen.Add(-time.Second)
	return history.Moment{Lo: at, Hi: at, Exact: span.TimeAudit}
}

// TestBoundAudited: the audit log is the best source of the time of a binding.
func TestBoundAudited(t *testing.T) {
	w := newWorld()
	w.from.Times = audited{}
	s := w.object(&kind.Pod, "web-a").put(10).put(20, bind, condition("PodScheduled", "True", 12),
		func(s *observation.State) { s.Pod.Scheduled = second(11) })
	if got := step(t, w.Of(s.begin(10)), span.NameSchedule).end; clock(got) != "19" || got.Exact != span.TimeAudit {
		t.Errorf("got %s by %q, want 19 by the audit log", clock(got), got.Exact)
	}
}

// TestSandbox: the first sign of a container proves the sandbox.
func TestSandbox(t *testing.T) {
	cases := map[string]struct {
		reason  string
		set     func(s *story)
		end     string
		message string
		events  int
	}{
		"open": {"nothing shows it", func(*story) {}, "", "", 0},
		"condition": {"the condition shows it",
			func(s *story) { s.put(14, condition("PodReadyToStartContainers", "True", 14)) }, "14", "", 0},
		"False": {"the condition denies it",
			func(s *story) { s.put(14, condition("PodReadyToStartContainers", "False", 14)) }, "", "", 0},
		"pull": {"the pull began before the condition", func(s *story) {
			s.event(13, "containers{app}", "Pulling", "").put(14, condition("PodReadyToStartContainers", "True", 14))
		}, "13", "", 0},
		"start": {"the container started before the condition", func(s *story) {
			s.put(13, container(0, running(13), nil)).put(14, condition("PodReadyToStartContainers", "True", 14))
		}, "13", "", 0},
		"late pull": {"the condition came before the pull", func(s *story) {
			s.put(13, condition("PodReadyToStartContainers", "True", 13)).event(14, "containers{app}", "Pulling", "")
		}, "13", "", 0},
		"failure": {"the network is not there", func(s *story) {
			s.event(13, "", "FailedCreatePodSandBox", "no network")
		}, "", "no network", 1},
		"recovered": {"the failure is over", func(s *story) {
			s.event(13, "", "FailedMount", "no volume").put(14, condition("PodReadyToStartContainers", "True", 14))
		}, "14", "", 1},
		"other Event": {"the Event is not about the sandbox", func(s *story) { s.event(13, "", "Scheduled", "x") },
			"", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			s := w.object(&kind.Pod, "web-a").put(10, func(s *observation.State) { s.Pod.Volumes = 3 }).put(11, bind)
			tc.set(s)
			p := step(t, w.Of(s.begin(10)), span.NameSandbox)
			if got := clock(p.end); got != tc.end || p.message != tc.message || len(p.events) != tc.events {
				t.Errorf("%s: ended %q, %q, %d events; want %q, %q, %d",
					tc.reason, got, p.message, len(p.events), tc.end, tc.message, tc.events)
			}
			if got := p.attribute(string(span.KeyVolumes)); got != "3" {
				t.Errorf("%s: %s volumes, want 3", tc.reason, got)
			}
		})
	}
}

// TestReadiness: a Pod waits to be ready from the start of its last container on.
func TestReadiness(t *testing.T) {
	two := func(s *observation.State) {
		s.Pod.Containers = append(s.Pod.Containers, observation.Container{Name: "log", Image: "registry/log:1"})
		s.Pod.ReadinessGates = []string{"example.com/gate"}
	}
	w := newWorld()
	s := w.object(&kind.Pod, "web-a").put(10, two).put(11, bind).
		put(13, func(s *observation.State) { s.Pod.Containers[1].State = running(13) })
	for _, p := range w.Of(s.begin(10)) {
		if p.name == span.NameReadiness {
			t.Error("the first container has not started")
		}
	}
	s.put(15, container(0, running(15), nil)).event(16, "containers{app}", "Pulled", "")
	s.event(17, "containers{app}", "Unhealthy", "refused").put(20, ready(18))
	p := step(t, w.Of(s.begin(10)), span.NameReadiness)
	if diff := cmp.Diff([]string{"readiness 15-18"}, text([]Step{*p})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"event Unhealthy"}, p.eventNames()); diff != "" {
		t.Errorf("probes: -want +got:\n%s", diff)
	}
	if got := p.attribute("k8s.pod.readiness_gates"); got != `["example.com/gate"]` {
		t.Errorf("gates %s", got)
	}
}

// TestFound: a Pod found after its convergence has no times from after that.
func TestFound(t *testing.T) {
	testPhases(t, map[string]phased{
		"first start": {"the start is known", func(w *world) *change.Reconciliation {
			return found(w.object(&kind.Pod, "web-a"), 0, 12)
		}, []string{"schedule 10-11", "sandbox 11-12", "start container app #1 12-12", "readiness 12-13"}},
		"restarted": {"the first start is not known any more", func(w *world) *change.Reconciliation {
			return found(w.object(&kind.Pod, "web-a"), 2, 25)
		}, []string{"schedule 10-11", "sandbox 11-13"}},
		"new sandbox": {"the sandbox is a later one", func(w *world) *change.Reconciliation {
			s := w.object(&kind.Pod, "web-a")
			condition("PodReadyToStartContainers", "True", 20)(&s.state)
			return found(s, 2, 25)
		}, []string{"schedule 10-11", "sandbox 11-13"}},
	})
}

// found returns the reconciliation of a Pod created at 10 that was ready at 13, as found at 30. Its container has
// run from second since on.
func found(s *story, restarts int32, since float64) *change.Reconciliation {
	s.put(30, bind, condition("PodScheduled", "True", 11), container(restarts, running(since), nil), ready(13))
	s.Versions[0].Baseline, s.Versions[0].Listed = true, true
	v := s.Versions[0]
	r := &change.Reconciliation{
		Timeline: s.Timeline, Lineage: &change.Lineage{}, Verb: history.Created, Took: kind.Everything,
		Parts: kind.Everything,
	}
	r.Wrote(&change.Write{
		Timeline: s.Timeline, RV: 30, Verb: history.Created, Version: v, Reconstructed: true, Arrived: second(13),
		At: history.Moment{Hi: second(10), Live: true},
	})
	return done(r, 13)
}

// TestPublished: a ready Pod waits for its publication as an endpoint.
func TestPublished(t *testing.T) {
	publication := func(service string, rv uint64) Publication {
		p := Publication{}
		p.Service, p.RV, p.At = service, rv, history.Moment{Hi: second(float64(rv)), Live: true}
		return p
	}
	pod := func(w *world) *change.Reconciliation {
		w.published = []Publication{publication("web", 18), publication("early", 15)}
		return w.object(&kind.Pod, "web-a").put(10).put(11, bind).put(13, container(0, running(13), nil)).
			put(16, ready(16)).begin(10)
	}
	before := []string{"schedule 10-11", "sandbox 11-13", "start container app #1 13-13", "readiness 13-16"}
	testPhases(t, map[string]phased{
		"published": {"a Service that does not wait for Ready has no step", pod,
			append(before, "publish endpoint web 16-18")},
		"Job": {"a Job's Pod serves nothing", func(w *world) *change.Reconciliation {
			w.published = []Publication{publication("web", 18)}
			return w.object(&kind.Pod, "load-a").put(10, ofJob).put(11, bind).put(13, container(0, running(13), nil)).
				put(16, phase("Succeeded"), container(0, ran(13, 16, 0), nil)).begin(10)
		}, append(before[:3:3], "run container app #1 13-16")},
		"not ready": {"it is not ready yet", func(w *world) *change.Reconciliation {
			w.published = []Publication{publication("web", 18)}
			return w.object(&kind.Pod, "web-a").put(10).put(11, bind).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-"}},
		"found": {"its publication is from before", func(w *world) *change.Reconciliation {
			w.published = []Publication{publication("web", 40)}
			return found(w.object(&kind.Pod, "web-a"), 0, 12)
		}, []string{"schedule 10-11", "sandbox 11-12", "start container app #1 12-12", "readiness 12-13"}},
	})
}

// TestPublications: a step begins with the readiness, or with a later Service.
func TestPublications(t *testing.T) {
	cases := map[string]struct {
		reason  string
		edit    func(p *Publication)
		created time.Time
		want    []string
	}{
		"later": {"the Pod was ready before", func(*Publication) {}, time.Time{},
			[]string{"publish endpoint web 16-20"}},
		"new Service": {"the Service came after the Pod", func(*Publication) {}, second(18),
			[]string{"publish endpoint web 18-20"}},
		"old Service": {"the Service was there", func(*Publication) {}, second(5),
			[]string{"publish endpoint web 16-20"}},
		"before": {"the Service publishes Pods that are not ready", func(p *Publication) { p.RV = 16 },
			time.Time{}, nil},
		"baseline": {"the publication is from before the observer", func(p *Publication) { p.Baseline = true },
			time.Time{}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Publication{Created: tc.created}
			p.Service, p.RV, p.At = "web", 20, at(20)
			tc.edit(&p)
			if diff := cmp.Diff(tc.want, text(Published(nil, at(16), 16, []Publication{p}))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReady: the condition Ready has the second in which a Pod was ready.
func TestReady(t *testing.T) {
	s := newWorld().object(&kind.Pod, "web-a").put(10).put(20, ready(16))
	if got := clock(Ready(watched{}, s.Timeline, s.Versions[1])); got != "16" {
		t.Errorf("got %s with a condition, want 16", got)
	}
	if got := clock(Ready(watched{}, s.Timeline, s.Versions[0])); got != "10" {
		t.Errorf("got %s without a condition, want the arrival", got)
	}
}

// TestTerminate: a deletion lasts from the request to the removal.
func TestTerminate(t *testing.T) {
	leaving := func(s *observation.State) { s.Deleting, s.GraceSeconds = second(41), 30 }
	preStop := func(s *observation.State) { s.Pod.Containers[0].PreStop = true }
	cases := map[string]struct {
		reason                string
		set                   func(s *story)
		rv                    uint64
		want                  string
		service, grace, hooks string
		events                []string
	}{
		"leaving": {"the Pod is there", func(s *story) { s.put(10, bind).put(11, leaving) }, 11,
			"terminate 11-", change.Kubelet, "30", "", nil},
		"gone": {"the Pod is gone", func(s *story) { s.put(10, bind).put(11, leaving).gone(15) }, 11,
			"terminate 11-15", change.Kubelet, "30", "", nil},
		"at once": {"no version shows the deletion", func(s *story) { s.put(10, bind).gone(15) }, 15,
			"terminate 15-15", change.Kubelet, "", "", nil},
		"not bound": {"no kubelet has it", func(s *story) { s.put(10).put(11, leaving) }, 11,
			"terminate 11-", change.Collector, "30", "", nil},
		"hook": {"a hook delays the end", func(s *story) { s.put(10, bind, preStop).put(11, leaving) }, 11,
			"terminate 11-", change.Kubelet, "30", "true", nil},
		"Events": {"some Events are about the end", func(s *story) {
			s.put(10, bind).put(11, leaving).event(12, "containers{app}", "Killing", "").event(13, "", "Pulled", "").
				event(14, "", "FailedPreStopHook", "")
		}, 11, "terminate 11-", change.Kubelet, "30", "", []string{"event Killing", "event FailedPreStopHook"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			s := w.object(&kind.Pod, "web-a")
			tc.set(s)
			steps := w.Of(s.begin(tc.rv))
			if diff := cmp.Diff([]string{tc.want}, text(steps)); diff != "" {
				t.Fatalf("%s: -want +got:\n%s", tc.reason, diff)
			}
			p := &steps[0]
			want := []string{tc.service, tc.grace, tc.hooks}
			got := []string{p.service, p.attribute(string(span.KeyGrace)), p.attribute(string(span.KeyPreStop))}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.events, p.eventNames()); diff != "" {
				t.Errorf("%s: events: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOccurred: a span event has the time and the content of its Event. A count of one is left out.
func TestOccurred(t *testing.T) {
	s := newWorld().object(&kind.Pod, "web-a").put(10).event(12, "", "Killing", "bye")
	e := s.Events[0]
	for _, tc := range []struct {
		count int32
		want  int // attributes
	}{{0, 3}, {1, 3}, {2, 4}} {
		e.Count = tc.count
		got := Occurred(e)
		if got.Name != "event Killing" || !got.Time.Equal(second(12)) || len(got.Attributes) != tc.want {
			t.Errorf("count %d: got %+v, want %d attributes", tc.count, got, tc.want)
		}
	}
}
